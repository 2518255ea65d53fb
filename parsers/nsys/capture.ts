/**
 * The small tables of an export: what was captured, when, where, of which processes. They carry the job's whole
 * environment, its command line, its captured output and the user's name; what is kept is named here, and nothing else
 * leaves this file.
 */
import { envFinding, rankOfEnvironment } from '../../src/knowledge/env-keys.js';
import { loadData } from '../../src/knowledge/load-data.js';
import type { EnvFinding, KnownRank } from '../../src/model/log-rows.js';

/** A value of a small table. */
export type Cell = number | bigint | string | null;
export type Row = Readonly<Record<string, Cell>>;

/** META_DATA_CAPTURE and META_DATA_EXPORT: the options that are kept, `src/knowledge/inputs/nsys-options.yaml`. */
const KEPT = loadData('inputs/nsys-options') as Readonly<Record<'capture' | 'export', readonly string[]>>;
const ENVIRONMENT = /^PROCESS_\d+:ENVIRONMENT_VARIABLE$/;

export interface Capture {
  readonly options: readonly { readonly key: string; readonly value: string }[];
  /** Variables worth keeping, of the launched process. */
  readonly env: readonly EnvFinding[];
  readonly rank: KnownRank;
  /** Whether `--cuda-memory-usage` was on; null if unknown. */
  readonly memoryEvents: boolean | null;
  readonly graphTrace: string | null;
}

/** Of META_DATA_CAPTURE and, for options that are not there, what `tables` shows. */
export function readCapture(rows: Iterable<Row>): Capture {
  const options: { key: string; value: string }[] = [];
  const environment: string[] = [];
  const memory: boolean[] = [];
  let graphTrace: string | null = null;
  for (const { name, value } of rows) {
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    if (ENVIRONMENT.test(name)) {
      environment.push(value);
      continue;
    }
    const key = name.replace(/^PROCESS_\d+:/, '');
    if (!KEPT.capture.includes(key)) continue;
    if (!options.some((option) => option.key === name && option.value === value)) options.push({ key: name, value });
    if (key === 'COLLECT_GPU_MEMORY_USAGE') memory.push(value.toLowerCase() === 'true');
    if (key === 'CUDA_GRAPH_TRACE_OPTIONS:MODE') graphTrace ??= value;
  }
  const { env, rank } = readEnvironment(environment);
  return { options, env, rank, memoryEvents: memory.length === 0 ? null : memory.some(Boolean), graphTrace };
}

/** Of lines `NAME=value`. */
export function readEnvironment(lines: readonly string[]): Pick<Capture, 'env' | 'rank'> {
  const env: EnvFinding[] = [];
  const variables = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf('=');
    if (at <= 0) continue;
    const finding = envFinding(line.slice(0, at), line.slice(at + 1), 'nsys capture');
    if (finding === null || variables.has(finding.key)) continue;
    env.push(finding);
    variables.set(finding.key, finding.value ?? '');
  }
  return { env, rank: rankOfEnvironment(variables) };
}

export interface ExportFacts {
  readonly options: readonly { readonly key: string; readonly value: string }[];
  readonly productVersion: string | null;
  readonly schemaVersion: string | null;
  /** Times are UTC already. */
  readonly isNormalized: boolean;
  /** Added to every time by the exporter, ns. */
  readonly shiftNs: bigint;
  readonly isPartial: boolean;
}

/** Of META_DATA_EXPORT, which is EXPORT_META_DATA before schema 3.4. */
export function readExportFacts(rows: Iterable<Row>): ExportFacts {
  const values = new Map<string, string>();
  for (const { name, value } of rows) {
    if (typeof name === 'string' && KEPT.export.includes(name) && !values.has(name))
      values.set(name, String(value ?? ''));
  }
  const isTrue = (key: string): boolean => /^(?:true|1)$/i.test(values.get(key) ?? '');
  const shift = [values.get('EXPORT_PARAM_TIME_SHIFT'), values.get('EXPORT_CONFIG_TIME_SHIFT')].find((text) =>
    /^-?[1-9]\d{0,18}$/.test(text ?? ''),
  );
  return {
    options: [...values].map(([key, value]) => ({ key, value })),
    productVersion: values.get('EXPORT_PRODUCT_VERSION') ?? null,
    schemaVersion: values.get('EXPORT_SCHEMA_VERSION') ?? null,
    isNormalized: isTrue('EXPORT_PARAM_TIME_NORMALIZE'),
    shiftNs: shift === undefined ? 0n : BigInt(shift),
    isPartial: ['EXPORT_PARAM_TABLES_TO_EXPORT', 'EXPORT_PARAM_TIMES_TO_EXPORT'].some(
      (key) => (values.get(key) ?? '').trim() !== '',
    ),
  };
}

export interface ReportClock {
  /** To be taken from every time of the export, so that 0 is the start of the collection. */
  readonly shiftNs: bigint;
  /** To be added to a time so shifted to get UTC; null if unknown. */
  readonly offsetNs: bigint | null;
  readonly origin: string | null;
}

/**
 * The clock of a report. Never ANALYSIS_DETAILS.startTime: it is of another clock, and which one changed between
 * releases (seconds to months off).
 */
export function reportClock(startUtcNs: bigint | null, { isNormalized, shiftNs }: ExportFacts): ReportClock {
  if (startUtcNs === null) {
    return isNormalized
      ? { shiftNs, offsetNs: 0n, origin: 'times exported as UTC (--ts-normalize)' }
      : { shiftNs, offsetNs: null, origin: null };
  }
  const words = [
    'TARGET_INFO_SESSION_START_TIME.utcEpochNs',
    ...(isNormalized ? ['times exported as UTC (--ts-normalize)'] : []),
    ...(shiftNs === 0n ? [] : [`a shift of ${shiftNs} ns at the export taken back`]),
  ];
  return { shiftNs: isNormalized ? startUtcNs + shiftNs : shiftNs, offsetNs: startUtcNs, origin: words.join('; ') };
}

export const SEVERITIES: readonly string[] = ['unknown', 'info', 'warning', 'error', 'verbose'];
