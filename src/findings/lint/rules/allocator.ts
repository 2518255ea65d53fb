/** The variables that carry the settings of torch's caching allocator: which counts, and who reads it. */
import { all, any, before, env, envNot, not, on, since } from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { EXPANDABLE, EXPANDABLE_BY_ALIAS, envTest, expands, GRAPHS_ON } from './mapping-terms.js';

const TORCH = 'torch c10/core/AllocatorConfig.cpp';
const CUDA = 'PYTORCH_CUDA_ALLOC_CONF';
const SKILL = 'Megatron Bridge memory tuning skill';
const ON = 'expandable_segments:True';

/** What torch reads as no entry: it takes a colon, names it knows, and for the switch `True` and `False`. */
function isRefused(text: string): boolean {
  return text
    .replace(/\s+/g, '')
    .split(',')
    .some((entry) => {
      if (entry.includes('=')) return true;
      return /^expandable_?segments?(?::|$)/i.test(entry) && !/^expandable_segments:(?:True|False)$/.test(entry);
    });
}

/** NCCL user buffers before torch 2.11, and CUDA graphs in core 0.14 and 0.15, do not take expandable segments. */
const FORBIDDEN = any(
  all(on('nccl_ub'), before('torch', '2.11')),
  all(GRAPHS_ON, since('megatron_core', '0.14'), before('megatron_core', '0.16')),
);

export const ALLOCATOR_RULES: readonly LintRule[] = [
  {
    id: 'soft-expandable-missing',
    severity: 'note',
    message:
      'Expandable segments are off: gaps between allocations cannot be reused, which is why a run near the limit often fails although memory is free.',
    when: all(not(EXPANDABLE), not(FORBIDDEN)),
    fix: 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the launch; with CUDA graphs NCCL_GRAPH_REGISTER=0 too. It costs no speed.',
    error: null,
    source: SKILL,
    evidence: 'measured',
    statements: [
      'mem.expandable-first',
      'mem.expandable-mechanism',
      'mem.expandable-env-only',
      'mem.frag-usual-cause',
      'mem.verify-env',
      'mem.diag-single-rank',
      'guide.env-expandable',
      'mem.meas-expandable',
    ],
    fails: [
      { config: { nccl_ub: false, cuda_graph_impl: 'none' } },
      { config: { nccl_ub: false, cuda_graph_impl: 'none' }, env: { [CUDA]: 'max_split_size_mb:512' } },
      { config: { nccl_ub: false, cuda_graph_impl: 'none' }, env: { [CUDA]: 'expandable_segments:False' } },
      { config: { nccl_ub: true, cuda_graph_impl: 'none' }, versions: { torch: '2.11.0' } },
    ],
    passes: [
      { config: { nccl_ub: false }, env: { [CUDA]: ON } },
      { config: { nccl_ub: false }, env: { PYTORCH_ALLOC_CONF: `max_split_size_mb:512,${ON}` } },
      { config: { nccl_ub: true, cuda_graph_impl: 'none' }, versions: { torch: '2.9.0' } },
      { config: { nccl_ub: false, cuda_graph_impl: 'local' }, versions: { megatron_core: '0.15.0' } },
    ],
    unknown: [{ config: { nccl_ub: false }, env: 'unknown' }, { config: { nccl_ub: true, cuda_graph_impl: 'none' } }],
  },
  {
    id: 'alloc-alias',
    severity: 'error',
    message:
      'PYTORCH_ALLOC_CONF={PYTORCH_ALLOC_CONF} turns expandable segments on where Megatron-Core looks at PYTORCH_CUDA_ALLOC_CONF only: with nccl_ub nothing refuses, and memory accesses may be illegal.',
    // 2.9.1 up to 2.10 ignores the switch in this variable: alloc-alias-ignored.
    when: all(on('nccl_ub'), EXPANDABLE_BY_ALIAS, any(before('torch', '2.9.1'), since('torch', '2.10'))),
    versions: [{ package: 'torch', from: '2.9', before: '2.11' }],
    fix: 'Drop expandable_segments or nccl_ub, or use torch 2.11; set PYTORCH_CUDA_ALLOC_CONF, which the guards read.',
    error: null,
    source: 'Megatron-LM megatron/core/distributed/distributed_data_parallel_config.py reads PYTORCH_CUDA_ALLOC_CONF',
    evidence: 'documented',
    statements: ['mem.expandable-ncclub', 'mem.expandable-env-only'],
    fails: [{ config: { nccl_ub: true }, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.10.0' } }],
    passes: [
      { config: { nccl_ub: true }, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.11.0' } },
      { config: { nccl_ub: false }, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.10.0' } },
      { config: { nccl_ub: true }, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.9.1' } },
      { config: { nccl_ub: true }, env: { [CUDA]: ON }, versions: { torch: '2.10.0' } },
    ],
    unknown: [
      { config: { nccl_ub: true }, env: { PYTORCH_ALLOC_CONF: ON } },
      { config: { nccl_ub: true }, env: 'unknown', versions: { torch: '2.10.0' } },
    ],
  },
  {
    id: 'alloc-alias-graphs',
    severity: 'warning',
    message:
      'PYTORCH_ALLOC_CONF={PYTORCH_ALLOC_CONF} turns expandable segments on where Megatron-Core looks at PYTORCH_CUDA_ALLOC_CONF only: its check of NCCL_GRAPH_REGISTER (here {NCCL_GRAPH_REGISTER}) with CUDA graphs does not run.',
    when: all(GRAPHS_ON, EXPANDABLE_BY_ALIAS, envNot('NCCL_GRAPH_REGISTER', '0')),
    versions: [{ package: 'torch', from: '2.9' }],
    fix: 'export NCCL_GRAPH_REGISTER=0, and name the variable PYTORCH_CUDA_ALLOC_CONF.',
    error: null,
    source: 'Megatron-LM megatron/core/transformer/cuda_graphs.py reads PYTORCH_CUDA_ALLOC_CONF',
    evidence: 'documented',
    statements: ['mem.expandable-graphs', 'mem.expandable-env-only'],
    fails: [{ config: { cuda_graph_impl: 'local' }, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.10.0' } }],
    passes: [
      {
        config: { cuda_graph_impl: 'local' },
        env: { PYTORCH_ALLOC_CONF: ON, NCCL_GRAPH_REGISTER: '0' },
        versions: { torch: '2.10.0' },
      },
      { config: { cuda_graph_impl: 'none' }, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.10.0' } },
      { config: { cuda_graph_impl: 'local' }, env: { [CUDA]: ON }, versions: { torch: '2.10.0' } },
    ],
  },
  {
    id: 'alloc-alias-ignored',
    severity: 'warning',
    message: 'torch {torch} does not take expandable_segments from PYTORCH_ALLOC_CONF: segments are not expandable.',
    when: all(EXPANDABLE_BY_ALIAS, any(before('torch', '2.9'), all(since('torch', '2.9.1'), before('torch', '2.10')))),
    fix: 'Name the variable PYTORCH_CUDA_ALLOC_CONF; the settings in a memory snapshot say what is in force.',
    error: null,
    source: `${TORCH}; pytorch issue 183387`,
    evidence: 'documented',
    statements: ['mem.verify-env', 'mem.expandable-env-only'],
    fails: [
      { config: {}, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.9.1' } },
      { config: {}, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.7.0' } },
    ],
    passes: [
      { config: {}, env: { PYTORCH_ALLOC_CONF: ON }, versions: { torch: '2.10.0' } },
      { config: {}, env: { [CUDA]: ON }, versions: { torch: '2.9.1' } },
    ],
    unknown: [{ config: {}, env: { PYTORCH_ALLOC_CONF: ON } }],
  },
  {
    id: 'alloc-both',
    severity: 'warning',
    message:
      'PYTORCH_CUDA_ALLOC_CONF={PYTORCH_CUDA_ALLOC_CONF} and PYTORCH_ALLOC_CONF={PYTORCH_ALLOC_CONF} differ: torch takes the first and does not read the second.',
    when: all(not(env(CUDA, null)), not(env('PYTORCH_ALLOC_CONF', null)), {
      text: `${CUDA} ≠ PYTORCH_ALLOC_CONF`,
      test(view) {
        const found = [view.env(CUDA), view.env('PYTORCH_ALLOC_CONF')] as const;
        return { value: found[0].value !== found[1].value, looked: found };
      },
    }),
    fix: 'Set PYTORCH_CUDA_ALLOC_CONF only.',
    error: null,
    source: TORCH,
    evidence: 'documented',
    statements: ['mem.verify-env'],
    fails: [{ config: {}, env: { [CUDA]: 'max_split_size_mb:512', PYTORCH_ALLOC_CONF: ON } }],
    passes: [
      { config: {}, env: { [CUDA]: ON, PYTORCH_ALLOC_CONF: ON } },
      { config: {}, env: { [CUDA]: ON } },
      { config: {} },
    ],
  },
  {
    id: 'alloc-syntax',
    severity: 'error',
    message: 'torch does not understand PYTORCH_CUDA_ALLOC_CONF={PYTORCH_CUDA_ALLOC_CONF}.',
    when: envTest(CUDA, 'not understood by torch', isRefused),
    fix: 'Write expandable_segments:True: a colon, a capital T, entries with commas between them.',
    error: null,
    source: TORCH,
    evidence: 'documented',
    statements: ['mem.expandable-first', 'mem.verify-env'],
    fails: [
      { config: {}, env: { [CUDA]: 'expandable_segments:true' } },
      { config: {}, env: { [CUDA]: 'expandable_segments=True' } },
      { config: {}, env: { [CUDA]: 'expandable_segments:1' } },
      { config: {}, env: { [CUDA]: 'max_split_size_mb:512,expandable_segments' } },
      { config: {}, env: { [CUDA]: 'Expandable_Segments:True' } },
      { config: {}, env: { [CUDA]: 'expandable_segment:True' } },
    ],
    passes: [
      { config: {}, env: { [CUDA]: ON } },
      { config: {}, env: { [CUDA]: 'max_split_size_mb:512, expandable_segments:False' } },
      { config: {} },
    ],
    unknown: [{ config: {}, env: 'unknown' }],
  },
  {
    id: 'alloc-spelling',
    severity: 'warning',
    message:
      'torch reads PYTORCH_CUDA_ALLOC_CONF={PYTORCH_CUDA_ALLOC_CONF} as expandable segments, Megatron-Core, which looks for the letters expandable_segments:True between commas, does not: its guards for NCCL user buffers and CUDA graphs do not run.',
    when: all(
      envTest(CUDA, 'on for torch only', (text) => expands(text) && !text.split(',').includes(ON)),
      any(all(on('nccl_ub'), before('torch', '2.11')), GRAPHS_ON),
    ),
    fix: 'Write it without white space: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.',
    error: null,
    source: `${TORCH}; Megatron-LM megatron/core/distributed/distributed_data_parallel_config.py`,
    evidence: 'documented',
    statements: ['mem.verify-env', 'mem.expandable-ncclub', 'mem.expandable-graphs'],
    fails: [
      {
        config: { nccl_ub: true, cuda_graph_impl: 'none' },
        env: { [CUDA]: 'expandable_segments: True' },
        versions: { torch: '2.9.0' },
      },
      { config: { cuda_graph_impl: 'local' }, env: { [CUDA]: 'max_split_size_mb:512, expandable_segments:True' } },
    ],
    passes: [
      { config: { nccl_ub: true }, env: { [CUDA]: ON }, versions: { torch: '2.9.0' } },
      { config: { nccl_ub: false, cuda_graph_impl: 'none' }, env: { [CUDA]: 'expandable_segments: True' } },
    ],
  },
];
