/** Profilers, what the log prints, and garbage collection. */
import { above, all, any, below, given, is, numbers, off, on, where } from '../../settings/condition.js';
import { asList } from '../../settings/values.js';
import type { LintRule } from '../rule.js';
import { IN_BRIDGE, IN_MEGATRON_LM, told } from './mapping-terms.js';
import { ARG, MBC } from './sources.js';

const FIRST_RANK_ONLY = where('profile_ranks = [0]', (view) => {
  const found = view.setting('profile_ranks');
  const ranks = asList(found.value);
  return [found.by === 'unknown' ? null : ranks !== null && ranks.length === 1 && ranks[0] === '0', found];
});
const HOST = 'NeMo and Megatron Bridge performance guides, host overhead';

export const PROFILING_RULES: readonly LintRule[] = [
  {
    id: 'prof',
    severity: 'error',
    message:
      'The profilers are set up so that none can run: one of PyTorch and Nsight Systems, and the last step not before the first.',
    when: all(
      IN_BRIDGE,
      any(
        all(on('use_pytorch_profiler'), on('use_nsys_profiler')),
        numbers(
          'profile_step_end < profile_step_start',
          ['profile_step_start', 'profile_step_end'],
          (start, end) => end! < start!,
        ),
        below('profile_step_start', 0),
      ),
    ),
    fix: 'Keep one of use_nsys_profiler and use_pytorch_profiler, and profile_step_end ≥ profile_step_start ≥ 0.',
    error: 'Exactly one of pytorch or nsys profiler',
    source: MBC,
    evidence: 'asserted',
    statements: ['mb.nsys-config', 'guide.nsys-use'],
    fails: [
      { config: { use_pytorch_profiler: true, use_nsys_profiler: true }, framework: 'megatron-bridge' },
      { config: { profile_step_start: 20, profile_step_end: 10 }, framework: 'megatron-bridge' },
    ],
    passes: [
      {
        config: {
          use_pytorch_profiler: false,
          use_nsys_profiler: true,
          profile_step_start: 10,
          profile_step_end: 12,
        },
        framework: 'megatron-bridge',
      },
    ],
  },
  {
    id: 'memint',
    severity: 'error',
    message: 'log_memory_interval {log_memory_interval} is no multiple of log_interval {log_interval}.',
    when: all(
      IN_MEGATRON_LM,
      given('log_memory_interval'),
      numbers(
        'log_memory_interval % log_interval ≠ 0',
        ['log_memory_interval', 'log_interval'],
        (memory, log) => log! > 0 && memory! % log! !== 0,
      ),
    ),
    fix: 'Set log_memory_interval to a multiple of log_interval.',
    error: 'args.log_memory_interval % args.log_interval',
    source: ARG,
    evidence: 'asserted',
    statements: [],
    fails: [{ config: { log_memory_interval: 15, log_interval: 10 }, framework: 'megatron-lm' }],
    passes: [
      { config: { log_memory_interval: 20, log_interval: 10 }, framework: 'megatron-lm' },
      { config: { log_memory_interval: null, log_interval: 10 }, framework: 'megatron-lm' },
    ],
  },
  {
    id: 'soft-profile-ranks',
    severity: 'note',
    message:
      'Memory is recorded on rank 0 only, which is the first of {pipeline_model_parallel_size} pipeline stages: the rank that runs out may be another.',
    when: all(on('record_memory_history'), FIRST_RANK_ONLY, above('pipeline_model_parallel_size', 1)),
    fix: 'Name one rank of each pipeline stage in profile_ranks, or the rank whose memory line is highest.',
    error: null,
    source: 'Megatron Bridge performance guide, profiling',
    evidence: 'config',
    statements: ['mb.snapshot-config', 'guide.snapshot-use', 'nemo.snapshot-plugin'],
    fails: [{ config: { record_memory_history: true, profile_ranks: [0], pipeline_model_parallel_size: 4 } }],
    passes: [
      { config: { record_memory_history: true, profile_ranks: [0, 8, 16], pipeline_model_parallel_size: 4 } },
      { config: { record_memory_history: true, profile_ranks: [0], pipeline_model_parallel_size: 1 } },
      { config: { record_memory_history: false, profile_ranks: [0], pipeline_model_parallel_size: 4 } },
    ],
  },
  {
    id: 'soft-snapshot-ranks',
    severity: 'warning',
    message: 'Memory is recorded, but profile_ranks names no rank: no snapshot is written.',
    when: all(
      IN_BRIDGE,
      on('record_memory_history'),
      where('profile_ranks empty', (view) => {
        const found = view.setting('profile_ranks');
        return [found.by === 'unknown' ? null : asList(found.value)?.length === 0, found];
      }),
    ),
    fix: 'Name the ranks in profile_ranks: an empty list means all of them for Nsight Systems, none for snapshots.',
    error: null,
    source: 'Megatron Bridge src/megatron/bridge/training/profiling.py',
    evidence: 'documented',
    statements: ['mb.snapshot-config'],
    fails: [{ config: { record_memory_history: true, profile_ranks: [] }, framework: 'megatron-bridge' }],
    passes: [{ config: { record_memory_history: true, profile_ranks: [0] }, framework: 'megatron-bridge' }],
  },
  {
    id: 'soft-gc-off',
    severity: 'warning',
    message: 'manual_gc_interval {manual_gc_interval} has no effect while manual_gc is off.',
    when: all(told('manual_gc_interval'), above('manual_gc_interval', 0), off('manual_gc')),
    fix: 'Set manual_gc=True: then all ranks collect garbage at the same step.',
    error: null,
    source: HOST,
    evidence: 'documented',
    statements: ['guide.manual-gc', 'mb.gc-knob', 'nemo.gc-knobs', 'guide.host-symptom-jitter'],
    fails: [{ config: { manual_gc: false, manual_gc_interval: 100 } }],
    passes: [
      { config: { manual_gc: true, manual_gc_interval: 100 } },
      { config: { manual_gc: false, manual_gc_interval: 0 } },
      { config: { manual_gc: false } },
    ],
  },
  {
    id: 'soft-gc-never',
    severity: 'note',
    message: 'Garbage is never collected while training: manual_gc is on with interval {manual_gc_interval}.',
    when: all(on('manual_gc'), is('manual_gc_interval', 0)),
    fix: 'Set manual_gc_interval (100), or watch the host memory and tensors that cycles keep alive on the GPU.',
    error: null,
    source: HOST,
    evidence: 'documented',
    statements: ['guide.manual-gc', 'mb.gc-knob'],
    fails: [{ config: { manual_gc: true, manual_gc_interval: 0 } }],
    passes: [{ config: { manual_gc: true, manual_gc_interval: 100 } }, { config: { manual_gc: false } }],
  },
];
