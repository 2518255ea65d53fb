import type { Emit, LineFormat } from '../contract.js';
import { GIB, halfDigit, MIB, memoryFigure } from '../units.js';

/** `format_mem_bytes`: 1024-based, one decimal. */
const UNITS: Readonly<Record<string, number>> = { tb: 1024 * GIB, gb: GIB, mb: MIB, kb: 1024, bytes: 1 };
const SIZE = String.raw`-?\d{1,15}(?:\.\d{1,2})? (?:[tgmk]b|bytes)`;

/** `1.5 gb` → bytes. */
function bytesOf(text: string): number {
  const [figure = '', unit = ''] = text.split(' ');
  return Math.round(Number(figure) * (UNITS[unit] ?? 1));
}

function emitBytes(name: string, text: string | undefined, emit: Emit): void {
  if (text !== undefined) emit({ row: 'value', name, value: bytesOf(text), unit: 'bytes', text });
}

export const CUDA_GRAPH_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-core.cuda-graphs-built',
    title: 'What capturing CUDA graphs cost',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.10, Megatron Bridge; pool and process separate since 2026',
    source: 'megatron/core/transformer/cuda_graphs.py: create_cudagraphs; core/inference/engines',
    anchors: [' cuda graph(s) in '],
    fields: {
      count: 'graphs; not printed by the inference engine',
      seconds: 'duration of the capture',
      allocated: 'growth of allocated memory, 1024-based units',
      reserved: 'growth of reserved memory',
      pool_reserved: 'reserved by the graphs’ pool',
      pool_allocated: 'allocated in the graphs’ pool',
      delta_allocated: 'growth of the process’ allocated memory, where the line has the pool separately',
      delta_reserved: 'growth of the process’ reserved memory, where the line has the pool separately',
    },
    pattern: new RegExp(
      String.raw`\bbuilt (?:(?<count>\d{1,7}) )?cuda graph\(s\) in (?<seconds>\d{1,7}\.\d{1,3}) sec(?:, with total memory usage: allocated (?<allocated>${SIZE}), reserved (?<reserved>${SIZE})|\. Mempool: reserved (?<pool_reserved>${SIZE}), allocated (?<pool_allocated>${SIZE})\. Process-wide delta: allocated (?<delta_allocated>${SIZE}), reserved (?<delta_reserved>${SIZE}))`,
      'g',
    ),
    read(groups, emit) {
      emit({ row: 'phase', phase: 'graph_capture', label: 'CUDA graphs built' });
      if (groups['count'] !== undefined) {
        emit({ row: 'value', name: 'graph.count', value: Number(groups['count']), unit: 'count' });
      }
      emit({ row: 'value', name: 'graph.capture_s', value: Number(groups['seconds']), unit: 's' });
      emitBytes('graph.allocated', groups['allocated'] ?? groups['delta_allocated'], emit);
      emitBytes('graph.reserved', groups['reserved'] ?? groups['delta_reserved'], emit);
      emitBytes('graph.pool_allocated', groups['pool_allocated'], emit);
      emitBytes('graph.pool_reserved', groups['pool_reserved'], emit);
    },
  },
  {
    form: 'line',
    id: 'megatron-core.cuda-graphs-progress',
    title: 'Memory while CUDA graphs are captured',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.10, Megatron Bridge',
    source: 'megatron/core/transformer/cuda_graphs.py: create_cudagraphs',
    anchors: ['create cuda graphs | mem: '],
    fields: {
      allocated: 'allocated in 1024-based units, one decimal',
      allocated_unit: 'gb, mb, kb, bytes',
      reserved: 'reserved',
      reserved_unit: 'its unit',
    },
    pattern:
      /create cuda graphs \| mem: alloc (?<allocated>\d{1,15}(?:\.\d{1,2})?) (?<allocated_unit>[tgmk]b|bytes), res (?<reserved>\d{1,15}(?:\.\d{1,2})?) (?<reserved_unit>[tgmk]b|bytes)/g,
    read(groups, emit) {
      for (const metric of ['allocated', 'reserved'] as const) {
        const text = groups[metric] ?? '';
        const unit = groups[`${metric}_unit`] ?? '';
        emit(memoryFigure(metric, text, unit, UNITS[unit] ?? 1, { moment: 'graph capture' }, halfDigit(text)));
      }
    },
  },
  {
    form: 'line',
    id: 'megatron-core.cuda-graphs-capture',
    title: 'Capturing of CUDA graphs begins, ends, or they are deleted',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.10, Megatron Bridge',
    source: 'megatron/core/transformer/cuda_graphs.py; core/full_cuda_graph.py; bridge/training/train.py',
    anchors: [
      'Start CUDA Graphs capture',
      'Time spent in CUDA Graphs capture on rank ',
      'CUDA graph for ',
      'CUDA graph capture done for ',
      ' CUDA graphs',
    ],
    fields: {
      start: 'capture begins',
      rank: 'global rank',
      seconds: 'duration on that rank',
      what: 'training or validation, of the graph of a whole iteration',
      done: 'the same, when it is done',
      count: 'graphs that are created',
      deleted: 'graphs are deleted',
    },
    pattern:
      /(?<start>Start CUDA Graphs capture)|Time spent in CUDA Graphs capture on rank (?<rank>\d{1,7}): (?<seconds>\d{1,7}\.\d{1,20})s|Capture CUDA graph for (?<what>\w{1,20})!!!|CUDA graph capture done for (?<done>\w{1,20})!!!|Creating (?<count>\d{1,7}) CUDA graphs|(?<deleted>Deleting CUDA graphs)/g,
    read({ start, rank, seconds, what, done, count, deleted }, emit) {
      if (seconds !== undefined) {
        emit({ row: 'value', name: 'graph.capture_s', value: Number(seconds), unit: 's', rank: Number(rank) });
        return;
      }
      if (count !== undefined) emit({ row: 'value', name: 'graph.planned', value: Number(count), unit: 'count' });
      if (deleted !== undefined) emit({ row: 'value', name: 'graph.deleted', value: null, unit: null });
      else if (done !== undefined)
        emit({ row: 'phase', phase: 'training', label: `CUDA graph capture done (${done})` });
      else {
        const label = start ?? (what === undefined ? `creating ${count} CUDA graphs` : `capture CUDA graph (${what})`);
        emit({ row: 'phase', phase: 'graph_capture', label });
      }
    },
  },
];
