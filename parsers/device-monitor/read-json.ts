import { epochUs, parseClockTime } from '../../src/text/clock-text.js';
import { type JsonPlace, type JsonTaker, listOf, member, memberAt, textOf } from '../../src/text/json-items.js';
import { oneCharAByte } from '../../src/text/text-lines.js';
import { describeDevice, isDcgmSeries, sample, setDevice } from './dcgm-series.js';
import { fieldsOf } from './meanings.js';
import { wholeNumber } from './read-csv.js';
import { NO_PROCESS, type SampleWriter } from './sample-writer.js';

const QUERY_FIELDS = fieldsOf('query');
const MOST_FIELDS = 512;
const MOST_LABELS = 64;
const MOST_WORD = 512;

/**
 * Results of Prometheus' query API: `matrix` of query_range, `vector` of query. Upstream: prometheus.io/docs, HTTP API.
 */
export function prometheusTaker(writer: SampleWriter): JsonTaker {
  return {
    item(series, { line, offset }) {
      const labels = new Map<string, string>();
      const metric = member(series, 'metric');
      if (typeof metric === 'object' && metric !== null) {
        for (const [name, value] of Object.entries(metric).slice(0, MOST_LABELS)) {
          // Rows take texts of one character a byte.
          if (typeof value === 'string') labels.set(name, oneCharAByte(value.slice(0, MOST_WORD)));
        }
      }
      const name = labels.get('__name__') ?? '';
      writer.at(line, offset);
      if (!isDcgmSeries(name)) {
        // The result of an expression lacks a name and may be anything.
        writer.odd(name === '' ? 'monitor_nameless' : 'monitor_other_series');
        return;
      }
      setDevice(writer, labels);
      const single = member(series, 'value');
      const pairs = single === undefined ? listOf(member(series, 'values')) : [single];
      let isFirst = true;
      for (const pair of pairs) {
        const [time, value] = listOf(pair);
        const us = typeof time === 'number' ? epochUs(time) : null;
        if (us === null || typeof value !== 'string' || value.length > 40) {
          writer.odd('monitor_figure');
          continue;
        }
        writer.setTime({ us, isUtc: true });
        if (isFirst) describeDevice(writer, labels);
        isFirst = false;
        sample(writer, name, labels, value, `${name}{gpu="${labels.get('gpu') ?? ''}"} ${value}`);
      }
    },
    document() {},
  };
}

/**
 * Objects with nvidia-smi's own field names: one a sample and device, or a sample with a list `gpus` as gpustat writes
 * it, whose processes have `gpu_memory_usage` in MiB. Upstream: gpustat `core.py`, `GPUStatCollection.jsonify`.
 */
export function objectTaker(writer: SampleWriter): JsonTaker {
  const take = (value: unknown, place: JsonPlace): void => {
    writer.at(place.line, place.offset);
    if (Array.isArray(value)) return;
    const host = textOf(member(value, 'hostname'));
    writer.setHost(host === undefined ? null : writer.text(oneCharAByte(host.slice(0, MOST_WORD))));
    const time = textOf(member(value, 'query_time')) ?? textOf(member(value, 'timestamp'));
    const seconds = member(value, 'timestamp');
    const us = typeof seconds === 'number' ? epochUs(seconds > 1e11 ? seconds / 1000 : seconds) : null;
    writer.setTime(us === null ? parseClockTime(time ?? '') : { us, isUtc: true });
    const devices = listOf(member(value, 'gpus'));
    if (devices.length === 0) row(writer, value);
    for (const device of devices) row(writer, device);
    for (const process of listOf(member(value, 'processes'))) row(writer, process);
  };
  return { item: take, document: take };
}

function row(writer: SampleWriter, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const gpuId = ['uuid', 'gpu_uuid', 'pci.bus_id', 'gpu_bus_id'].map((key) => textOf(member(value, key))).find(Boolean);
  const index = printed(member(value, 'index') ?? member(value, 'gpu_index'));
  writer.setDevice({
    index: index === undefined ? null : wholeNumber(index),
    gpuId: gpuId === undefined ? undefined : writer.text(oneCharAByte(gpuId.slice(0, 80))),
  });
  const process = processOf(writer, value);
  for (const [key, cell] of Object.entries(value).slice(0, MOST_FIELDS)) {
    const match = /^([a-z_.]{1,80})(?: \[([A-Za-z%]{1,6})\])?$/.exec(key);
    const meaning = QUERY_FIELDS.get(match?.[1] ?? '');
    const text = printed(cell);
    if (meaning === undefined || text === undefined) continue;
    // Of a process, `name` is its own.
    if (meaning.kind === 'change' && meaning.name === 'gpu.name' && process !== NO_PROCESS) continue;
    writer.field(meaning, text, match?.[2], process);
  }
  for (const process of listOf(member(value, 'processes'))) {
    const used = printed(member(process, 'gpu_memory_usage'));
    if (used === undefined) continue;
    writer.field({ kind: 'gauge', metric: 'process_used' }, used, 'MiB', processOf(writer, process));
  }
}

function processOf(writer: SampleWriter, value: unknown): { pid: number | undefined; name: string | undefined } {
  const pid = wholeNumber(printed(member(value, 'pid')) ?? '');
  if (pid === null) return NO_PROCESS;
  const name = textOf(member(value, 'process_name') ?? member(value, 'command') ?? memberAt(value, 'name'));
  return { pid, name: name === undefined ? undefined : writer.text(oneCharAByte(name.slice(0, MOST_WORD))) };
}

/** A number or text as a monitor would have printed it, one character a byte. */
function printed(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  return typeof value === 'string' ? oneCharAByte(value.slice(0, MOST_WORD)) : undefined;
}
