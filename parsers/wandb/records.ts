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
  readonly versions: Versions;
}

/** Empty if unknown. */
export interface Versions {
  readonly wandb: string;
  readonly python: string;
  readonly transformers: string;
}

export type RunRecord =
  | { readonly kind: 'history'; readonly items: readonly Item[]; readonly step: number | null }
  | { readonly kind: 'stats'; readonly items: readonly Item[]; readonly timeUs: number | null }
  | { readonly kind: 'config'; readonly items: readonly Item[] }
  | { readonly kind: 'run'; readonly run: RunFacts }
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
      return { kind: 'history', ...historyOf(pbf, end) };
    case 5:
      return { kind: 'config', items: configOf(pbf, end) };
    case 7:
      return { kind: 'stats', ...statsOf(pbf, end) };
    case 11:
      return { kind: 'versions', versions: telemetryOf(pbf, end) };
    case 17:
      return { kind: 'run', run: runOf(pbf, end) };
    case 18:
      return { kind: 'exit', ...exitOf(pbf, end) };
    case 21:
      // Since wandb-core: `0.30.0+<commit>`.
      return { kind: 'versions', versions: { ...NO_VERSIONS, wandb: producerOf(pbf, end).split('+', 1)[0]! } };
    case 26:
      return { kind: 'environment', environment: environmentOf(pbf, end) };
    default:
      return PASSED_OVER.has(field) ? null : { kind: 'unknown', field };
  }
}

/** Reads a field of the message that ends at `end`; `before` is what was read of the same field before. */
type Read<Value> = (pbf: PbfReader, end: number, before: Value) => Value;

/** A message: the names of its fields by number, and how they are read. What is not listed is passed over. */
function messageOf<Message extends object>(
  empty: () => Message,
  fields: Readonly<
    Record<number, { [Name in keyof Message]: readonly [Name, Read<Message[Name]>] }[keyof Message] | undefined>
  >,
): (pbf: PbfReader, end: number) => Message {
  return (pbf, end) => {
    const message = empty();
    eachFieldOf(pbf, end, (number, stop) => {
      const [name, read] = fields[number] ?? [];
      if (name !== undefined) message[name] = read!(pbf, stop, message[name]);
    });
    return message;
  };
}

/** One field of a message. */
function only<Value>(number: number, read: Read<Value>, missing: Value): (pbf: PbfReader, end: number) => Value {
  const message = messageOf(() => ({ value: missing }), { [number]: ['value', read] });
  return (pbf, end) => message(pbf, end).value;
}

/** A repeated field; what is more than `most` is read and dropped. */
function upTo<Item>(most: number, read: (pbf: PbfReader, end: number, index: number) => Item): Read<readonly Item[]> {
  return (pbf, end, before) => {
    const item = read(pbf, end, before.length);
    if (before.length < most) (before as Item[]).push(item);
    return before;
  };
}

const text = (pbf: PbfReader, end: number): string => readText(pbf, end, MOST_TEXT_BYTES);
const textIfBytes: Read<string> = (pbf, end, before) => (pbf.type === 2 ? text(pbf, end) : before);

/** A number too many makes it no message. */
const items: Read<readonly Item[]> = (pbf, end, before) => {
  if (before.length >= MOST_ITEMS) throw new NoMessage();
  return upTo(MOST_ITEMS, itemOf)(pbf, end, before);
};

function itemOf(pbf: PbfReader, end: number): Item {
  const path: string[] = [];
  let json = '';
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 1 || field === 2) {
      if (path.length < 32) path.push(readText(pbf, stop, MOST_KEY_BYTES));
    } else if (field === 16) json = readText(pbf, stop, MOST_JSON_BYTES);
  });
  return { path, json };
}

interface Timed {
  items: readonly Item[];
  timeUs: number | null;
}
// A message without its number is step 0, as proto3 leaves zeros away.
const historyOf = messageOf(() => ({ items: [] as readonly Item[], step: null as number | null }), {
  1: ['items', items],
  2: ['step', only<number | null>(1, readNumber, 0)],
});
const statsOf = messageOf((): Timed => ({ items: [], timeUs: null }), {
  2: ['timeUs', readTimeUs],
  3: ['items', items],
});
const configOf = (pbf: PbfReader, end: number): readonly Item[] => only(1, items, [])(pbf, end);
const commitOf = only(2, text, '');
const producerOf = only(1, only(1, text, ''), '');
const exitOf = messageOf(() => ({ code: 0, runtimeS: 0 }), { 1: ['code', readNumber], 2: ['runtimeS', readNumber] });

const NO_VERSIONS: Versions = { wandb: '', python: '', transformers: '' };
/** `wandb_telemetry.proto`. */
const telemetryOf = messageOf(() => ({ ...NO_VERSIONS }), {
  4: ['python', text],
  5: ['wandb', text],
  6: ['transformers', text],
});

const runOf = messageOf(
  (): { -readonly [Name in keyof RunFacts]: RunFacts[Name] } => ({
    ...{ id: '', entity: '', project: '', name: '', group: '', jobType: '', sweep: '', host: '', commit: '' },
    ...{ startUs: null, startingStep: 0, config: [], versions: NO_VERSIONS },
  }),
  {
    1: ['id', text],
    2: ['entity', text],
    3: ['project', text],
    4: ['config', configOf],
    6: ['group', text],
    7: ['jobType', text],
    8: ['name', text],
    12: ['sweep', text],
    13: ['host', text],
    14: ['startingStep', readNumber],
    17: ['startUs', readTimeUs],
    19: ['versions', telemetryOf],
    21: ['commit', commitOf],
  },
);

const nvidiaOf = messageOf(() => ({ name: '', totalBytes: 0, uuid: '' }), {
  1: ['name', textIfBytes],
  2: ['totalBytes', readNumber],
  5: ['uuid', textIfBytes],
});
const amdOf = messageOf(() => ({ id: '', name: '', totalBytes: 0, uuid: '' }), {
  1: ['id', textIfBytes],
  2: ['uuid', textIfBytes],
  8: ['name', textIfBytes],
});
const slurmOf = messageOf(() => ({ key: '', value: '' }), { 1: ['key', text], 2: ['value', text] });

const environmentOf = messageOf(
  (): { -readonly [Name in keyof EnvironmentFacts]: EnvironmentFacts[Name] } => ({
    ...{ host: '', python: '', program: '', gpuType: '', cudaDriver: '', commit: '', startedUs: null, cpus: 0 },
    ...{ gpus: 0, memoryBytes: 0, devices: [], args: [], slurm: new Map() },
  }),
  {
    2: ['python', text],
    3: ['startedUs', readTimeUs],
    5: ['args', upTo(MOST_ARGS, text)],
    6: ['program', text],
    9: ['commit', commitOf],
    12: ['host', text],
    17: ['cpus', readNumber],
    18: ['gpuType', text],
    19: ['gpus', readNumber],
    21: ['memoryBytes', only(1, readNumber, 0)],
    // Devices of a DCGM exporter come without their memory, and in no order.
    24: [
      'devices',
      upTo(MOST_DEVICES, (pbf, end, index): DeviceFacts => {
        const device = nvidiaOf(pbf, end);
        return { ...device, device: device.totalBytes > 0 ? index : null };
      }),
    ],
    25: ['cudaDriver', text],
    26: [
      'devices',
      upTo(MOST_DEVICES, (pbf, end, index): DeviceFacts => {
        const { id, ...device } = amdOf(pbf, end);
        return { ...device, device: /^\d{1,3}$/.test(id) ? Number(id) : index };
      }),
    ],
    27: [
      'slurm',
      (pbf: PbfReader, end: number, before: EnvironmentFacts['slurm']) => {
        const { key, value } = slurmOf(pbf, end);
        if (before.size < MOST_ARGS) (before as Map<string, string>).set(key, value);
        return before;
      },
    ],
  },
);
