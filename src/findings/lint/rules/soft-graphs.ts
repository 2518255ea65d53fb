/** CUDA graphs: what they cost, and settings beside them that recipes have and configurations forget. */
import {
  above,
  all,
  any,
  before,
  capabilityBelow,
  envHas,
  is,
  not,
  notKnown,
  since,
  where,
} from '../../settings/condition.js';
import type { LintRule, Sample } from '../rule.js';
import { EXPANDABLE, GRAPHS, graphsOf, REGISTERS } from './activation-terms.js';
import { CG } from './sources.js';

const PERF = 'NeMo and Megatron Bridge performance guides';
const TE: Sample['config'] = { cuda_graph_impl: 'transformer_engine' };
const expandable = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };
const REUSE = 'graph_capture_record_stream_reuse:True';

/** As told: what follows from it is the newer spelling already, and so is what a dump shows. */
const OLDER_SPELLING = where('enable_cuda_graph, external_cuda_graph or the module full_iteration told', (view) => {
  const older = [
    ['enable_cuda_graph', /^true$/i],
    ['external_cuda_graph', /^true$/i],
    ['cuda_graph_modules', /full_iteration/],
  ] as const;
  const found = older.filter(([key, pattern]) => {
    const told = view.facts.settings.get(key);
    return told !== undefined && told.origin !== 'log dump' && pattern.test(told.value ?? '');
  });
  return [found.length > 0, ...found.map(([key]) => view.setting(key))];
});

export const SOFT_GRAPH_RULES: readonly LintRule[] = [
  {
    id: 'soft-graph-nccl',
    severity: 'warning',
    message:
      'CUDA graphs with expandable segments and NCCL_GRAPH_REGISTER {NCCL_GRAPH_REGISTER} risk illegal memory accesses; nothing checks it for cuda_graph_impl {cuda_graph_impl}.',
    when: all(
      graphsOf('local', 'full_iteration'),
      any(EXPANDABLE, envHas('PYTORCH_ALLOC_CONF', 'expandable_segments:True')),
      REGISTERS,
      // Refused there: `graph-nccl-local`, `graph-expand-old`.
      notKnown(
        all(
          is('cuda_graph_impl', 'local'),
          EXPANDABLE,
          since('megatron_core', '0.16'),
          before('megatron_core', '0.19'),
          capabilityBelow(10),
        ),
      ),
      notKnown(all(since('megatron_core', '0.14'), before('megatron_core', '0.16'))),
      // The alias with local graphs: `graph-nccl-alias`.
      not(
        all(is('cuda_graph_impl', 'local'), not(EXPANDABLE), envHas('PYTORCH_ALLOC_CONF', 'expandable_segments:True')),
      ),
    ),
    fix: 'export NCCL_GRAPH_REGISTER=0',
    error: null,
    source: CG,
    evidence: 'documented',
    statements: ['mem.expandable-graphs'],
    fails: [
      { config: { cuda_graph_impl: 'local' }, env: expandable },
      { config: { cuda_graph_impl: 'local' }, env: expandable, versions: { megatron_core: '0.19.0' }, gpu: 'h100' },
      { config: { cuda_graph_impl: 'full_iteration' }, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True' } },
    ],
    passes: [
      { config: { cuda_graph_impl: 'local' }, env: { ...expandable, NCCL_GRAPH_REGISTER: '0' } },
      { config: { cuda_graph_impl: 'local' }, env: expandable, versions: { megatron_core: '0.17.0' }, gpu: 'h100' },
      { config: { cuda_graph_impl: 'local' }, env: { PYTORCH_ALLOC_CONF: 'expandable_segments:True' } },
      { config: TE, env: expandable },
    ],
    unknown: [{ config: { cuda_graph_impl: 'local' }, env: 'unknown' }],
  },
  {
    id: 'soft-graph-reuse',
    severity: 'note',
    message:
      'Megatron Bridge recipes with CUDA graphs set graph_capture_record_stream_reuse:True; here it is missing ({PYTORCH_CUDA_ALLOC_CONF}).',
    when: all(
      GRAPHS,
      not(envHas('PYTORCH_CUDA_ALLOC_CONF', REUSE)),
      not(envHas('PYTORCH_ALLOC_CONF', REUSE)),
      // Older allocators do not know the option and refuse it.
      notKnown(before('torch', '2.10')),
    ),
    fix: 'From torch 2.10 on, add graph_capture_record_stream_reuse:True to PYTORCH_CUDA_ALLOC_CONF.',
    error: null,
    source: 'Megatron Bridge performance recipes, env_vars',
    evidence: 'config',
    statements: ['guide.graphs-memory'],
    fails: [{ config: TE, env: expandable }, { config: TE }],
    passes: [
      { config: TE, env: { PYTORCH_CUDA_ALLOC_CONF: `expandable_segments:True,${REUSE}` } },
      { config: TE, env: { PYTORCH_ALLOC_CONF: REUSE } },
      { config: TE, env: expandable, versions: { torch: '2.9.1' } },
      { config: { cuda_graph_impl: 'none' } },
    ],
    unknown: [{ config: TE, env: 'unknown' }],
  },
  {
    id: 'soft-graph-memory',
    severity: 'note',
    message:
      'CUDA graphs keep static buffers: a few GB, and more than 10 GB with PP > 1 (PP {pipeline_model_parallel_size}).',
    when: all(GRAPHS, above('pipeline_model_parallel_size', 0)),
    fix: 'If memory is short, name fewer modules in cuda_graph_modules, or set cuda_graph_impl=none.',
    error: null,
    source: PERF,
    evidence: 'documented',
    statements: ['guide.graphs-memory', 'guide.graphs-what', 'mem.comp-temporary'],
    fails: [{ config: TE }, { config: { ...TE, pipeline_model_parallel_size: 4 } }],
    passes: [{ config: { cuda_graph_impl: 'none', pipeline_model_parallel_size: 4 } }],
  },
  {
    id: 'soft-graph-iteration',
    severity: 'note',
    message: 'CUDA graphs of the whole iteration can take 1.5 to 2 times the peak memory of the same run without.',
    when: graphsOf('full_iteration'),
    fix: 'If memory is short, use cuda_graph_impl=transformer_engine with a few modules.',
    error: null,
    source: 'Megatron Bridge skills/nemo-mbridge-perf-cuda-graphs',
    evidence: 'measured',
    statements: ['guide.graphs-memory'],
    fails: [
      { config: { cuda_graph_impl: 'full_iteration' } },
      { config: { cuda_graph_impl: 'local', cuda_graph_modules: ['full_iteration'] } },
    ],
    passes: [{ config: TE }],
  },
  {
    id: 'soft-graph-spelling',
    severity: 'note',
    message: 'CUDA graphs are asked for in an older spelling, which newer releases turn into cuda_graph_impl.',
    when: all(OLDER_SPELLING, GRAPHS),
    fix: 'Write cuda_graph_impl=local for enable_cuda_graph, transformer_engine for external_cuda_graph, and full_iteration for local with that scope.',
    error: null,
    source: 'Megatron-LM transformer_config.py',
    evidence: 'documented',
    statements: ['guide.graphs-knob', 'rec.full-graph-option-local'],
    fails: [
      { config: { enable_cuda_graph: true } },
      { config: { external_cuda_graph: true } },
      { config: { cuda_graph_impl: 'local', cuda_graph_modules: ['full_iteration'] } },
    ],
    passes: [
      { config: TE },
      { config: { cuda_graph_impl: 'full_iteration' } },
      { config: { enable_cuda_graph: false, cuda_graph_impl: 'none' } },
    ],
  },
];
