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
import { momentTitle } from './speedscope.js';

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
  const functions = functionsOf(live, text);
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
          line: [new Line({ functionId: functions.ofFrame[row]!, line: Math.max(0, frame.line) })],
        }),
    ),
    function: functions.list,
    timeNanos: timeNanos(live.devices),
    periodType: type('space', 'bytes'),
    period: 1,
    comment: comments.map(text),
    defaultSampleType: text('inuse_space'),
  });
  return gzipSync(profile.encode(), { level: 6 });
}

/** Functions are names within files; their lines are properties of the locations. */
function functionsOf(live: LiveStacks, text: (value: string) => number) {
  const ids = new Map<string, number>();
  const list: PprofFunction[] = [];
  const ofFrame = live.frames.map((frame) => {
    const key = `${frame.name}\u0000${frame.filename}`;
    let id = ids.get(key);
    if (id === undefined) {
      id = list.length + 1;
      ids.set(key, id);
      // pprof shows a function without a name as its id.
      const name = text(frame.name === '' ? '(unnamed)' : frame.name);
      list.push(new PprofFunction({ id, name, systemName: name, filename: text(frame.filename) }));
    }
    return id;
  });
  return { list, ofFrame };
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
