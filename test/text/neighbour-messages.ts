/**
 * What upstream prints where memory runs out, or where a process ends otherwise: one producer per wording of a version,
 * with figures that add up. See message-neighbours.ts.
 */
import type { IncidentByteField } from '../../src/model/tables.js';
import type { Cause, IncidentKind } from '../../src/model/vocabulary.js';

/** A figure as printed, and half of its last printed digit. */
export interface Printed {
  readonly text: string;
  readonly bytes: number;
  readonly error: number;
}

/** A message before anything is put around it. */
export interface Message {
  readonly name: string;
  /** Classes that carry it; an empty one: none. */
  readonly classes: readonly string[];
  readonly lines: readonly string[];
  readonly kinds: readonly IncidentKind[];
  readonly bytes: Readonly<Partial<Record<IncidentByteField, Printed>>>;
  readonly device: number | null;
  /** Causes that the text establishes. */
  readonly causes: readonly Cause[];
  /** A line of a daemon or a shell: nothing raises it. */
  readonly isLine?: boolean;
  /** Where its request may be cut off. */
  readonly cut?: string;
}

export class Choices {
  private state: number;
  constructor(seed: number) {
    this.state = (seed * 2_654_435_761 + 12_345) >>> 0;
  }
  /** In [0, 1): mulberry32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }
  chance(share: number): boolean {
    return this.next() < share;
  }
  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }
}

export const GIB = 1024 ** 3;
export const MIB = 1024 ** 2;

/** c10's format_size: two decimals from KiB on. */
function sized(bytes: number): Printed {
  if (bytes <= 1024) return { text: `${Math.round(bytes)} bytes`, bytes: Math.round(bytes), error: 0 };
  const [scale, unit] = bytes <= MIB ? [1024, 'KiB'] : bytes <= GIB ? [MIB, 'MiB'] : [GIB, 'GiB'];
  return inUnit(bytes, scale as number, unit as string, 2);
}

export function inUnit(bytes: number, scale: number, unit: string, decimals: number, gap = ' '): Printed {
  const value = (bytes / scale).toFixed(decimals);
  return { text: `${value}${gap}${unit}`, bytes: Number(value) * scale, error: 0.5 * 10 ** -decimals * scale };
}

/** Of a count of bytes; with commas between the thousands. */
export const counted = (bytes: number): Printed => ({ text: String(bytes), bytes, error: 0 });
export const grouped = (bytes: number): Printed => ({ text: bytes.toLocaleString('en-US'), bytes, error: 0 });

interface Figures {
  readonly device: number;
  readonly requested: Printed;
  readonly total: Printed;
  readonly free: Printed;
  readonly process: Printed;
  readonly allocated: Printed;
  readonly cached: Printed;
  readonly reserved: Printed;
  readonly pools: Printed;
  readonly allowed: Printed;
  readonly others: readonly { readonly pid: number; readonly printed: Printed }[];
}

const bare = (text: string): string => text.replace(/\s+$/, '');

type Scenario = 'full' | 'pieces' | 'pools' | 'others' | 'outside' | 'beyond';

/** What a device holds where an allocation fails: the parts add up to its total. */
function figures(choices: Choices, scenario: Scenario): Figures {
  const total = choices.pick([5.8, 7.79, 11.9, 14.75, 23.69, 39.56, 47.53, 79.15, 93.1, 139.8, 191.98]) * GIB;
  const share = (from: number, to: number): number => (from + (to - from) * choices.next()) * total;
  const context = (0.3 + 0.5 * choices.next()) * GIB;
  const pools = scenario === 'pools' ? share(0.12, 0.3) : 0;
  const foreign = scenario === 'others' ? [share(0.3, 0.6), ...(choices.chance(0.3) ? [0.4 * GIB] : [])] : [];
  const outside = scenario === 'outside' ? share(0.25, 0.5) : 0;
  const cached = scenario === 'pieces' ? share(0.15, 0.35) : choices.chance(0.15) ? 0 : choices.next() * 0.01 * total;
  const free = choices.chance(0.1) ? 0 : choices.next() * 0.008 * total;
  const held = foreign.reduce((sum, bytes) => sum + bytes, 0) + outside + context;
  const allocated = Math.max(0.1 * GIB, total - held - cached - pools - free);
  const process = allocated + pools + cached + context + outside;
  const requested =
    scenario === 'beyond'
      ? total * (1.2 + 4 * choices.next())
      : scenario === 'pieces'
        ? cached * (0.2 + 0.5 * choices.next())
        : scenario === 'pools'
          ? pools * (0.3 + 0.4 * choices.next()) + cached + free
          : (free + cached) * 1.2 + choices.pick([2, 20, 64, 512, 1024, 2200]) * MIB;
  return {
    device: choices.integer(0, 7),
    requested: sized(requested),
    total: sized(total),
    free: sized(free),
    process: sized(process),
    allocated: sized(allocated + pools),
    cached: sized(cached),
    reserved: sized(allocated + pools + cached),
    pools: sized(pools),
    allowed: sized(total * (0.4 + 0.5 * choices.next())),
    others: foreign.map((bytes) => ({ pid: choices.integer(1000, 4_100_000), printed: sized(bytes) })),
  };
}

/** By the printed figures alone. Memory of an unknown owner is not a cause. */
function causesOf(bytes: Message['bytes'], selfIsNamed: boolean): Cause[] {
  const {
    requested,
    total,
    free,
    process,
    allocated,
    reserved,
    reservedUnallocated,
    privatePool,
    allowed,
    otherProcess,
  } = bytes;
  if (requested === undefined || total === undefined) return [];
  const limit = Math.min(total.bytes, allowed?.bytes ?? Number.POSITIVE_INFINITY);
  if (requested.bytes > limit) return ['capacity'];
  const foreign = selfIsNamed ? (otherProcess?.bytes ?? 0) : 0;
  const causes = new Set<Cause>(foreign + (free?.bytes ?? 0) > requested.bytes ? ['external_pressure'] : []);
  if (allocated === undefined) return [...causes];
  const pools = privatePool?.bytes ?? 0;
  if (allocated.bytes - pools + requested.bytes > limit - Math.max(0.02 * total.bytes, requested.bytes))
    causes.add('capacity');
  const held =
    reserved?.bytes ?? (reservedUnallocated === undefined ? undefined : allocated.bytes + reservedUnallocated.bytes);
  if (held === undefined || free === undefined) return [...causes];
  const cached = held - allocated.bytes;
  const usable = free.bytes + cached;
  if (requested.bytes >= usable + pools) causes.add('capacity');
  if (requested.bytes <= usable) causes.add('fragmentation');
  if (pools > 0 && requested.bytes <= usable + pools) causes.add('graph_pools');
  if (allowed !== undefined) causes.add('capacity');
  const left = usable + pools - requested.bytes;
  if (left < Math.max(0.02 * total.bytes, requested.bytes)) causes.add('capacity');
  const outside = process === undefined ? 0 : process.bytes - held;
  if (outside + foreign + free.bytes > requested.bytes && outside + foreign > 2 * GIB) causes.add('external_pressure');
  return [...causes];
}

const DOCS = 'See documentation for Memory Management';
const PLATFORMS: readonly { readonly word: string; readonly kind: IncidentKind }[] = [
  { word: 'CUDA', kind: 'cuda_oom' },
  { word: 'CUDA', kind: 'cuda_oom' },
  { word: 'CUDA', kind: 'cuda_oom' },
  { word: 'HIP', kind: 'hip_oom' },
];
const TORCH_CLASSES = {
  old: ['RuntimeError', 'RuntimeError', ''],
  middle: ['torch.cuda.OutOfMemoryError', 'OutOfMemoryError', 'RuntimeError', ''],
  new: ['torch.OutOfMemoryError', 'torch.OutOfMemoryError', 'OutOfMemoryError', 'RuntimeError', ''],
};

const SCENARIOS: readonly Scenario[] = ['full', 'full', 'pieces', 'others', 'outside', 'beyond'];

/** 1.0 to 2.0: everything in brackets, separated by semicolons. */
function bracketed(choices: Choices): Message {
  const { word, kind } = choices.pick(PLATFORMS);
  const state = figures(choices, choices.pick(SCENARIOS));
  const oldest = choices.chance(0.25);
  const limited = !oldest && choices.chance(0.2);
  const clauses: string[] = [`${state.total.text} total capacity`, `${state.allocated.text} already allocated`];
  const middle = [`${state.free.text} free`, ...(limited ? [`${state.allowed.text} allowed`] : [])];
  const last = oldest ? `${state.cached.text} cached` : `${state.reserved.text} reserved in total by PyTorch`;
  const hint =
    !oldest && choices.chance(0.6)
      ? ` If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  ${DOCS} and PYTORCH_${word}_ALLOC_CONF`
      : '';
  const place = choices.pick([`GPU ${state.device}`, `GPU ${state.device}`, `GPU  ${state.device}`]);
  const line = `${word} out of memory. Tried to allocate ${state.requested.text} (${place}; ${[...clauses, ...middle, last].join('; ')})${hint}`;
  const { requested, total, allocated, free, allowed, reserved, cached } = state;
  const bytes = {
    requested,
    total,
    allocated,
    free,
    ...(limited ? { allowed } : {}),
    ...(oldest ? { reservedUnallocated: cached } : { reserved }),
  };
  return {
    name: `${word} ${oldest ? '1.0' : '1.4'}`,
    classes: TORCH_CLASSES.old,
    lines: [line],
    kinds: [kind],
    bytes,
    device: state.device,
    causes: causesOf(bytes, false),
    ...(word === 'CUDA' ? { cut: `(GPU ${state.device};` } : {}),
  };
}

/** 2.1 and later: sentences. */
function sentences(choices: Choices): Message {
  const { word, kind } = choices.pick(PLATFORMS);
  const version = choices.pick(['2.1', '2.2', '2.4', '2.6', '2.9', '2.11', '2.14']);
  const withPools = version !== '2.1' && version !== '2.2' && choices.chance(0.25);
  const scenario = withPools ? 'pools' : choices.pick(SCENARIOS);
  const state = figures(choices, scenario);
  // NVML names processes only outside containers, and never under HIP.
  const naming = word === 'HIP' ? 'none' : choices.pick(['self', 'self', 'self', 'both', 'none', 'container']);
  const listed = naming === 'both' || naming === 'self' ? state.others : [];
  const thisProcess = `Including non-PyTorch memory, this process has ${state.process.text} memory in use. `;
  const named = listed.map(({ pid, printed }) => `Process ${pid} has ${printed.text} memory in use. `);
  const selfPid = choices.integer(10, 4_100_000);
  const processes =
    naming === 'container'
      ? [`Process ${selfPid} has ${state.process.text} memory in use. `]
      : naming === 'none'
        ? []
        : choices.chance(0.2)
          ? [thisProcess, ...named]
          : [...named, thisProcess];
  const limited = choices.chance(0.12);
  const hints: Readonly<Record<string, string>> = {
    '2.1': `If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  ${DOCS} and PYTORCH_${word}_ALLOC_CONF`,
    '2.9': `If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  ${DOCS}  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)`,
    '2.11': `If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  ${DOCS}  (https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)`,
  };
  const hint =
    choices.chance(0.7) && version !== '2.14'
      ? ` ${hints[version] ?? `If reserved but unallocated memory is large try setting PYTORCH_${word}_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  ${DOCS}  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)`}`
      : '';
  const head = `${word} out of memory. Tried to allocate ${state.requested.text}. `;
  const second = `GPU ${state.device} has a total ${version === '2.1' ? 'capacty' : 'capacity'} of ${state.total.text} of which ${state.free.text} is free. `;
  // People and loggers cut what is behind the processes.
  const ending = choices.chance(0.12)
    ? []
    : [
        ...(limited ? [`${state.allowed.text} allowed; `] : []),
        `Of the allocated memory ${state.allocated.text} is allocated by PyTorch, ${withPools ? `with ${state.pools.text} allocated in private pools (e.g., CUDA Graphs), ` : ''}and ${state.cached.text} is reserved by PyTorch but unallocated.${hint}`,
      ];
  const line = bare(`${head}${second}${processes.join('')}${ending.join('')}`);
  const { requested, total, free, process, allocated, cached, pools, allowed } = state;
  const otherBytes: Printed[] = naming === 'container' ? [process] : listed.map(({ printed }) => printed);
  const bytes: Message['bytes'] = {
    requested,
    total,
    free,
    ...(naming === 'self' || naming === 'both' ? { process } : {}),
    ...(otherBytes.length > 0
      ? {
          otherProcess: {
            text: '',
            bytes: otherBytes.reduce((sum, one) => sum + one.bytes, 0),
            error: otherBytes.reduce((sum, one) => sum + one.error, 0),
          },
        }
      : {}),
    ...(ending.length === 0
      ? {}
      : {
          allocated,
          reservedUnallocated: cached,
          ...(withPools ? { privatePool: pools } : {}),
          ...(limited ? { allowed } : {}),
        }),
  };
  return {
    name: `${word} ${version}`,
    classes: version === '2.1' || version === '2.2' ? TORCH_CLASSES.middle : TORCH_CLASSES.new,
    lines: [line],
    kinds: [kind],
    bytes,
    device: state.device,
    causes: causesOf(bytes, naming !== 'container'),
    ...(word === 'CUDA' ? { cut: 'GPU ' } : {}),
  };
}

function accelerators(choices: Choices): Message {
  const state = figures(choices, choices.pick(['full', 'beyond', 'pieces']));
  const { requested, total, free, allocated, cached, reserved, device } = state;
  const of = (
    name: string,
    kind: IncidentKind,
    line: string,
    bytes: Message['bytes'],
    place: number | null = device,
    classes: readonly string[] = ['RuntimeError', 'torch.OutOfMemoryError'],
  ): Message => ({ name, classes, lines: [line], kinds: [kind], bytes, device: place, causes: causesOf(bytes, true) });
  const mega = (bytes: number): Printed =>
    bytes >= GIB
      ? inUnit(bytes, GIB, choices.pick(['GB', 'GiB']), 2)
      : inUnit(bytes, MIB, choices.pick(['MB', 'MiB']), 2);
  const producers: readonly (() => Message)[] = [
    () =>
      of(
        'XPU 2.4',
        'xpu_oom',
        `XPU out of memory. Tried to allocate ${requested.text}. GPU ${device} has a total capacity of ${total.text}. Of the allocated memory ${allocated.text} is allocated by PyTorch, and ${cached.text} is reserved by PyTorch but unallocated. Please use \`empty_cache\` to release all unoccupied cached memory.`,
        { requested, total, allocated, reservedUnallocated: cached },
      ),
    () =>
      of(
        'XPU 2.8',
        'xpu_oom',
        `XPU out of memory. Tried to allocate ${requested.text}. GPU ${device} has a total capacity of ${total.text} of which ${free.text} is free. Of the allocated memory ${allocated.text} is allocated by PyTorch, and ${cached.text} is reserved by PyTorch but unallocated. Please use \`empty_cache\` to release all unoccupied cached memory.`,
        { requested, total, free, allocated, reservedUnallocated: cached },
      ),
    () =>
      of(
        'IPEX',
        'xpu_oom',
        `XPU out of memory. Tried to allocate ${requested.text} (GPU ${device}; ${total.text} total capacity; ${allocated.text} already allocated; ${reserved.text} reserved in total by PyTorch)`,
        { requested, total, allocated, reserved },
      ),
    () =>
      of(
        'NPU',
        'npu_oom',
        `NPU out of memory. Tried to allocate ${requested.text} (NPU ${device}; ${total.text} total capacity; ${allocated.text} already allocated; ${allocated.text} current active; ${free.text} free; ${reserved.text} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.`,
        { requested, total, allocated, free, reserved },
      ),
    () =>
      of(
        'NPU short',
        'npu_oom',
        `NPU out of memory. Tried to allocate ${requested.text} (NPU ${device}; ${total.text} total; ${allocated.text} already allocated; ${free.text} free)`,
        { requested, total, allocated, free },
      ),
    () => {
      const [held, other, most, asked] = [
        mega(allocated.bytes),
        mega(cached.bytes),
        mega(total.bytes),
        mega(requested.bytes),
      ];
      return of(
        'MPS',
        'mps_oom',
        `MPS backend out of memory (MPS allocated: ${held.text}, other allocations: ${other.text}, max allowed: ${most.text}). Tried to allocate ${asked.text} on ${choices.pick(['private', 'shared'])} pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).`,
        { allocated: held, allowed: most, requested: asked },
        null,
        ['RuntimeError'],
      );
    },
    () =>
      of(
        'cudaMallocAsync',
        'cuda_oom',
        `Allocation on device ${device} would exceed allowed memory. (out of memory)\nCurrently allocated     : ${allocated.text}\nRequested               : ${requested.text}\nDevice limit            : ${total.text}\nFree (according to CUDA): ${free.text}\nPyTorch limit (set by user-supplied memory fraction)\n                        : ${total.text}`,
        { allocated, requested, total, free, allowed: total },
        device,
        ['torch.cuda.OutOfMemoryError', 'torch.OutOfMemoryError'],
      ),
    () =>
      of(
        'cudaMallocAsync joined',
        'cuda_oom',
        `Allocation on device ${device} would exceed allowed memory. (out of memory) Currently allocated : ${allocated.text} Requested : ${requested.text} Device limit : ${total.text} Free (according to CUDA): ${free.text}`,
        { allocated, requested, total, free },
        device,
        ['torch.OutOfMemoryError', ''],
      ),
  ];
  const message = choices.pick(producers)();
  // The driver joins what its own pool has free: what it refuses is not there.
  if (message.name.startsWith('cudaMallocAsync'))
    return { ...message, causes: ['capacity'], lines: message.lines.flatMap((line) => line.split('\n')) };
  return { ...message, lines: message.lines.flatMap((line) => line.split('\n')) };
}

export const messagesOfDevices: readonly ((choices: Choices) => Message)[] = [
  bracketed,
  sentences,
  sentences,
  sentences,
  accelerators,
];
