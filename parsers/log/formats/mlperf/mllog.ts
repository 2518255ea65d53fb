import type { LogFinding, Phase, ValueFinding } from '../../../../src/model/log-rows.js';
import type { Emit, LineCode } from '../contract.js';
import { bannerSetting, figureFinding, wordFinding } from '../system/findings.js';
import { MIB, memoryFigure } from '../units.js';

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  for (const attempt of [text, text.replace(/: (?:NaN|-?Infinity)(?=[,}\s])/g, ': null')]) {
    try {
      const value: unknown = JSON.parse(attempt);
      return isObject(value) ? value : null;
    } catch {
      // Python writes NaN, which is invalid JSON; the second attempt replaces it.
    }
  }
  return null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Further facts of a record: `samples_count=192`, `status=success`; the source location is omitted. */
function circumstances(metadata: unknown): string | undefined {
  if (!isObject(metadata)) return undefined;
  const parts = Object.entries(metadata)
    .filter(([key, value]) => key !== 'file' && key !== 'lineno' && !isObject(value) && value !== null)
    .map(([key, value]) => `${key}=${String(value)}`);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** Members of `tracked_stats` and the keys of epochs: samples a second, seconds. */
function unitOf(name: string): string | null {
  if (/(?:^|[._])throughput$/.test(name)) return 'samples/s';
  return /(?:^|[._])(?:step_time|time_to_\w{1,20}|duration)$/.test(name) ? 's' : null;
}

function emitValue(name: string, value: unknown, details: string | undefined, emit: Emit): void {
  const text = details === undefined ? {} : { text: details };
  const row: ValueFinding = { row: 'value', name, value: null, unit: null, ...text };
  if (typeof value === 'number' && Number.isFinite(value)) emit({ ...row, value, unit: unitOf(name) });
  else if (isObject(value)) {
    emit({ ...row, text: JSON.stringify(value) });
    for (const [key, inner] of Object.entries(value)) emitValue(`${name}.${key}`, inner, details, emit);
  } else if (typeof value === 'boolean' || (typeof value === 'string' && value !== ''))
    emit(wordFinding(name, String(value)));
  else if (Array.isArray(value)) emit(wordFinding(name, JSON.stringify(value)));
  else emit(row);
}

export const MLPERF_MLLOG: LineCode = {
  id: 'mlperf.mllog',
  read({ record = '' }, emit, { phases, settings }) {
    const parsed = parseObject(record);
    const key = parsed?.['key'];
    if (parsed === null || typeof key !== 'string' || key === '') return;
    const { time_ms: time, value, metadata } = parsed;
    const phase = phases!.get(key) as Phase | undefined;
    if (phase !== undefined) emit({ row: 'phase', phase, label: `MLLOG ${key}` });
    emitValue(`mllog.${key}`, value, circumstances(metadata), emit);
    if (typeof time === 'number') emit(figureFinding(`mllog.${key}.time_ms`, time, 'ms'));
    const setting = settings!.get(key);
    if (setting !== undefined && (typeof value === 'number' || typeof value === 'string'))
      emit(bannerSetting(setting, key, String(value)));
  },
};

const CAPACITY = /^(\d{1,9}) MiB$/;

export const MLPERF_SYSJSON: LineCode = {
  id: 'mlperf.sysjson',
  read({ record = '' }, emit, { versions }) {
    const parsed = parseObject(record);
    if (parsed === null) return;
    const emitWord = (key: string, rowOf: (word: string) => LogFinding | null): void => {
      const value = parsed[key];
      const row = typeof value === 'string' && value !== '' ? rowOf(value) : null;
      if (row !== null) emit(row);
    };
    emitWord('accelerator_model_name', (word) => wordFinding('gpu.name', word));
    emitWord('accelerator_memory_capacity', (word) => {
      const capacity = CAPACITY.exec(word)?.[1];
      return capacity === undefined ? null : memoryFigure('device_total', capacity, 'MiB', MIB);
    });
    emitWord('accelerators_per_node', (word) => figureFinding('gpu.count_per_node', Number(word), 'count'));
    emitWord('number_of_nodes', (word) => figureFinding('launcher.nodes', Number(word), 'count'));
    emitWord('framework', (word) => wordFinding('version.framework', word));
    const software = parsed['other_software_stack'];
    if (!isObject(software)) return;
    for (const [key, value] of Object.entries(software)) {
      const version = versions!.get(key);
      if (version !== undefined && typeof value === 'string' && value !== '') emit(wordFinding(version, value));
    }
  },
};
