/** Profiles for pprof: gzip over protocol buffers. Upstream: google/pprof `proto/profile.proto`. */
import { gzipSync } from 'node:zlib';
import {
  Label,
  Line,
  Location,
  Mapping,
  Function as PprofFunction,
  Profile,
  Sample,
  StringTable,
  ValueType,
} from 'pprof-format';
import type { LiveDevice, LiveSample, LiveStacks } from '../../../model/results/export.js';
import { frameTitle, momentTitle } from './speedscope.js';

/**
 * A `.pb.gz` file. Two values a sample, both exact: `inuse_objects` (blocks) and `inuse_space` (actual bytes; the
 * default). Samples are distinguished by stack, device, stream, pool, segment type and state, which are their labels.
 * `time_nanos` is the moment's time where the trace has times, and all devices agree. The same input gives the same
 * bytes.
 */
export function pprof(live: LiveStacks, exporter: string): Uint8Array {
  const table = new StringTable();
  const text = (value: string): number => table.dedup(value);
  const type = (name: string, unit: string): ValueType => new ValueType({ type: text(name), unit: text(unit) });
  const sampleType = [type('inuse_objects', 'count'), type('inuse_space', 'bytes')];
  const comments = [
    `${live.handle} (${live.path})`,
    ...live.devices.map((device) => `device ${device.device} ${momentTitle(device)}: ${device.activeBytes} bytes`),
    exporter,
  ];
  const profile = new Profile({
    stringTable: table,
    sampleType,
    sample: live.devices.flatMap((device) => device.samples.map((sample) => sampleOf(live, device, sample, text))),
    // One mapping that has everything already, or pprof looks for a binary to read symbols from.
    mapping: [
      new Mapping({
        id: 1,
        filename: text(live.path),
        hasFunctions: true,
        hasFilenames: true,
        hasLineNumbers: true,
        hasInlineFrames: true,
      }),
    ],
    location: live.frames.map(
      (frame, row) =>
        new Location({
          id: row + 1,
          mappingId: 1,
          line: [new Line({ functionId: row + 1, line: Math.max(0, frame.line) })],
        }),
    ),
    // `pprof -top` adds up by the name of the function alone, so the name is that of the call site, with its place:
    // otherwise every `forward` is one line.
    function: live.frames.map(
      (frame, row) =>
        new PprofFunction({
          id: row + 1,
          name: text(frameTitle(frame)),
          // Where both are equal, pprof takes the name for one of C++, and removes what is in parentheses.
          systemName: text(frame.name === frame.text ? '' : frame.name),
          filename: text(frame.filename),
        }),
    ),
    timeNanos: timeNanos(live.devices),
    periodType: type('space', 'bytes'),
    period: 1,
    comment: comments.map(text),
    defaultSampleType: text('inuse_space'),
  });
  return gzipSync(profile.encode(), { level: 6 });
}

function sampleOf(live: LiveStacks, device: LiveDevice, sample: LiveSample, text: (value: string) => number): Sample {
  const word = (key: string, value: string): Label => new Label({ key: text(key), str: text(value) });
  // A number of 0 is not written, and some readers drop a label without a value; so numbers are written as words too.
  const labels = [
    word('device', String(device.device)),
    word('state', sample.state),
    word('segment_type', sample.segmentType),
    word('stream', sample.stream === null ? 'unknown' : String(sample.stream)),
    word('pool', sample.pool === null ? 'unknown' : `(${sample.pool.join(', ')})`),
  ];
  const operator = live.operators[sample.stack];
  if (operator != null) labels.push(word('operator', operator));
  return new Sample({
    // Leaf first.
    locationId: live.stacks[sample.stack]!.map((frame) => frame + 1).reverse(),
    value: [sample.blocks, sample.bytes],
    label: labels,
  });
}

function timeNanos(devices: readonly LiveDevice[]): bigint {
  const times = [...new Set(devices.map((device) => device.timeUs))];
  return times.length === 1 && times[0] != null ? BigInt(times[0]) * 1000n : 0n;
}
