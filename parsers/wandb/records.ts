/** Records of a transaction log with facts about a run, as `wandb/proto/wandb_internal.proto` numbers them. */
import type { PbfReader } from 'pbf';
import type { DeviceFacts, EnvironmentFacts } from './environment.js';
import { eachField, eachFieldOf, messageReader, NoMessage, readNumber, readText, readTimeUs } from './proto-fields.js';

/** A key with its value as JSON. Nested dictionaries come as a path of several names, or inside the JSON. */
export interface Item {
  readonly path: readonly string[];
  readonly json: string;
}

export interface RunFacts {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly group: string;
  readonly jobType: string;
  readonly sweep: string;
  readonly host: string;
  readonly commit: string;
  readonly startUs: number | null;
  readonly startingStep: number;
  readonly config: readonly Item[];
}

export interface Versions {
  readonly wandb?: string;
  readonly python?: string;
  readonly transformers?: string;
}

export type RunRecord =
  | { readonly kind: 'history'; readonly items: readonly Item[]; readonly step: number | null }
  | { readonly kind: 'stats'; readonly items: readonly Item[]; readonly timeUs: number | null }
  | { readonly kind: 'config'; readonly items: readonly Item[] }
  | { readonly kind: 'run'; readonly run: RunFacts; readonly versions: Versions }
  | { readonly kind: 'environment'; readonly environment: EnvironmentFacts }
  | { readonly kind: 'versions'; readonly versions: Versions }
  | { readonly kind: 'exit'; readonly code: number; readonly runtimeS: number }
  /**
   * Known, and not read: `output` (the console, which `output.log` has too), `summary` (history again), files,
   * artifacts.
   */
  | { readonly kind: 'passed over' }
  | { readonly kind: 'unknown'; readonly field: number };

/** Numbers of `Record.record_type` that are not read: what upstream has had up to 0.30. */
const PASSED_OVER = new Set([3, 4, 6, 8, 9, 10, 12, 13, 20, 22, 23, 24, 25, 27, 100]);
/** `num`, `control`, `uuid`, `_info`: of every record. */
const ENVELOPE = new Set([1, 16, 19, 200]);

const MOST_KEY_BYTES = 1024;
/** Longer values are tables and texts, not numbers and settings. */
const MOST_JSON_BYTES = 256 * 1024;
const MOST_ITEMS = 100_000;
const MOST_TEXT_BYTES = 4096;
const MOST_ARGS = 10_000;
const MOST_DEVICES = 1024;

/** Throws the reader's error if the bytes are not such a message. */
export function readRecord(bytes: Uint8Array): RunRecord {
  const pbf = messageReader(bytes);
  let record: RunRecord = { kind: 'passed over' };
  eachField(pbf, bytes.length, (field) => {
    if (ENVELOPE.has(field)) return;
    record = recordOf(pbf, field, bytes.length) ?? record;
  });
  return record;
}

/** The number of its type, from the beginning of a record; null if it is not in there. */
export function typeOfRecord(head: Uint8Array): number | null {
  const pbf = messageReader(head);
  try {
    for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) if (!ENVELOPE.has(field)) return field;
  } catch {
    // Cut: what is looked for comes behind.
  }
  return null;
}

export function isPassedOver(field: number): boolean {
  return PASSED_OVER.has(field);
}

function recordOf(pbf: PbfReader, field: number, end: number): RunRecord | null {
  switch (field) {
    case 2:
      return history(pbf, end);
    case 5:
      return { kind: 'config', items: configOf(pbf, end) };
    case 7:
      return stats(pbf, end);
    case 11:
      return { kind: 'versions', versions: telemetry(pbf, end) };
    case 17:
      return run(pbf, end);
    case 18:
      return exit(pbf, end);
    case 21:
      return { kind: 'versions', versions: header(pbf, end) };
    case 26:
      return { kind: 'environment', environment: environment(pbf, end) };
    default:
      return PASSED_OVER.has(field) ? null : { kind: 'unknown', field };
  }
}

function item(pbf: PbfReader, end: number): Item {
  const path: string[] = [];
  let json = '';
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 1 || field === 2) {
      if (path.length < 32) path.push(readText(pbf, stop, MOST_KEY_BYTES));
    } else if (field === 16) json = readText(pbf, stop, MOST_JSON_BYTES);
  });
  return { path, json };
}

function addItem(items: Item[], pbf: PbfReader, end: number): void {
  if (items.length >= MOST_ITEMS) throw new NoMessage();
  items.push(item(pbf, end));
}

function history(pbf: PbfReader, end: number): RunRecord {
  const items: Item[] = [];
  let step: number | null = null;
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 1) addItem(items, pbf, stop);
    else if (field === 2) {
      // A message without its number is step 0, as proto3 leaves zeros away.
      step = 0;
      eachFieldOf(pbf, stop, (inner, last) => {
        if (inner === 1) step = readNumber(pbf, last);
      });
    }
  });
  return { kind: 'history', items, step };
}

function stats(pbf: PbfReader, end: number): RunRecord {
  const items: Item[] = [];
  let time: number | null = null;
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 2) time = readTimeUs(pbf, stop);
    else if (field === 3) addItem(items, pbf, stop);
  });
  return { kind: 'stats', items, timeUs: time };
}

function configOf(pbf: PbfReader, end: number): Item[] {
  const items: Item[] = [];
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 1) addItem(items, pbf, stop);
  });
  return items;
}

function run(pbf: PbfReader, end: number): RunRecord {
  const texts = new Map<number, string>();
  let startUs: number | null = null;
  let startingStep = 0;
  let config: readonly Item[] = [];
  let commit = '';
  let versions: Versions = {};
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 4) config = configOf(pbf, stop);
    else if (field === 14) startingStep = readNumber(pbf, stop);
    else if (field === 17) startUs = readTimeUs(pbf, stop);
    else if (field === 19) versions = telemetry(pbf, stop);
    else if (field === 21) commit = commitOf(pbf, stop);
    else if ([1, 2, 3, 6, 7, 8, 12, 13].includes(field)) texts.set(field, readText(pbf, stop, MOST_TEXT_BYTES));
  });
  const text = (field: number): string => texts.get(field) ?? '';
  return {
    kind: 'run',
    versions,
    run: {
      id: text(1),
      entity: text(2),
      project: text(3),
      group: text(6),
      jobType: text(7),
      name: text(8),
      sweep: text(12),
      host: text(13),
      commit,
      startUs,
      startingStep,
      config,
    },
  };
}

function commitOf(pbf: PbfReader, end: number): string {
  let commit = '';
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 2) commit = readText(pbf, stop, MOST_TEXT_BYTES);
  });
  return commit;
}

/** `wandb_telemetry.proto`. */
function telemetry(pbf: PbfReader, end: number): Versions {
  const texts = new Map<number, string>();
  eachFieldOf(pbf, end, (field, stop) => {
    if (field >= 4 && field <= 6) texts.set(field, readText(pbf, stop, MOST_TEXT_BYTES));
  });
  return versionsOf(texts.get(5), texts.get(4), texts.get(6));
}

/** Since wandb-core: `0.30.0+<commit>`. */
function header(pbf: PbfReader, end: number): Versions {
  let producer = '';
  eachFieldOf(pbf, end, (field, stop) => {
    if (field !== 1) return;
    eachFieldOf(pbf, stop, (inner, last) => {
      if (inner === 1) producer = readText(pbf, last, MOST_TEXT_BYTES);
    });
  });
  return versionsOf(producer.split('+', 1)[0], undefined, undefined);
}

function versionsOf(wandb = '', python = '', transformers = ''): Versions {
  return {
    ...(wandb === '' ? {} : { wandb }),
    ...(python === '' ? {} : { python }),
    ...(transformers === '' ? {} : { transformers }),
  };
}

function exit(pbf: PbfReader, end: number): RunRecord {
  let code = 0;
  let runtimeS = 0;
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 1) code = readNumber(pbf, stop);
    else if (field === 2) runtimeS = readNumber(pbf, stop);
  });
  return { kind: 'exit', code, runtimeS };
}

function environment(pbf: PbfReader, end: number): EnvironmentFacts {
  const texts = new Map<number, string>();
  const numbers = new Map<number, number>();
  const args: string[] = [];
  const slurm = new Map<string, string>();
  const devices: DeviceFacts[] = [];
  let startedUs: number | null = null;
  let commit = '';
  let memoryBytes = 0;
  eachFieldOf(pbf, end, (field, stop) => {
    switch (field) {
      case 2:
      case 6:
      case 12:
      case 18:
      case 25:
        texts.set(field, readText(pbf, stop, MOST_TEXT_BYTES));
        break;
      case 17:
      case 19:
        numbers.set(field, readNumber(pbf, stop));
        break;
      case 3:
        startedUs = readTimeUs(pbf, stop);
        break;
      case 5: {
        const text = readText(pbf, stop, MOST_TEXT_BYTES);
        if (args.length < MOST_ARGS) args.push(text);
        break;
      }
      case 9:
        commit = commitOf(pbf, stop);
        break;
      case 21:
        eachFieldOf(pbf, stop, (inner, last) => {
          if (inner === 1) memoryBytes = readNumber(pbf, last);
        });
        break;
      case 24:
      case 26: {
        const device = deviceOf(pbf, stop, field === 24, devices.length);
        if (devices.length < MOST_DEVICES) devices.push(device);
        break;
      }
      case 27: {
        const pair = ['', ''];
        eachFieldOf(pbf, stop, (inner, last) => {
          if (inner === 1 || inner === 2) pair[inner - 1] = readText(pbf, last, MOST_TEXT_BYTES);
        });
        if (slurm.size < MOST_ARGS) slurm.set(pair[0]!, pair[1]!);
        break;
      }
    }
  });
  return {
    host: texts.get(12) ?? '',
    python: texts.get(2) ?? '',
    program: texts.get(6) ?? '',
    gpuType: texts.get(18) ?? '',
    cudaDriver: texts.get(25) ?? '',
    commit,
    startedUs,
    cpus: numbers.get(17) ?? 0,
    gpus: numbers.get(19) ?? 0,
    memoryBytes,
    devices,
    args,
    slurm,
  };
}

function deviceOf(pbf: PbfReader, end: number, isNvidia: boolean, index: number): DeviceFacts {
  const texts = new Map<number, string>();
  let totalBytes = 0;
  eachFieldOf(pbf, end, (field, stop) => {
    if (isNvidia && field === 2) totalBytes = readNumber(pbf, stop);
    else if (pbf.type === 2) texts.set(field, readText(pbf, stop, MOST_TEXT_BYTES));
  });
  if (isNvidia) {
    // Devices of a DCGM exporter come without their memory, and in no order.
    const device = totalBytes > 0 ? index : null;
    return { device, name: texts.get(1) ?? '', totalBytes, uuid: texts.get(5) ?? '' };
  }
  const id = texts.get(1) ?? '';
  return {
    device: /^\d{1,3}$/.test(id) ? Number(id) : index,
    name: texts.get(8) ?? '',
    totalBytes: 0,
    uuid: texts.get(2) ?? '',
  };
}
