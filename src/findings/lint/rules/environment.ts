/** Variables of NCCL, Transformer Engine and torch that cost memory or speed, or say what a setting denies. */
import {
  all,
  any,
  before,
  type Condition,
  env,
  envNot,
  is,
  not,
  off,
  on,
  since,
  where,
} from '../../settings/condition.js';
import type { LintRule } from '../rule.js';
import { envTest, IN_BRIDGE } from './mapping-terms.js';

const GUIDES = 'NeMo and Megatron Bridge performance guides';

/**
 * What the recipes of Megatron Bridge set for every kind of hardware, and nothing forbids. They set expandable segments too, which some
 * configurations do forbid: `soft-expandable-missing`.
 */
const RECIPE_ENV = {
  NCCL_GRAPH_REGISTER: '0',
  NCCL_NVLS_ENABLE: '0',
  TORCH_NCCL_AVOID_RECORD_STREAMS: '1',
  TORCH_NCCL_HIGH_PRIORITY: '1',
} as const;

const RECIPE_MISSING: Condition = where('a variable of the recipes not set', (view) => {
  const found = Object.keys(RECIPE_ENV).map((name) => view.env(name));
  if (found.some(({ by }) => by === 'unknown')) return [null, ...found];
  return [found.some(({ value }) => value === null), ...found];
});

/** What Megatron-Core writes itself for a backend, after it has checked that nothing else was told. */
const BACKENDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  auto: { NVTE_FLASH_ATTN: '1', NVTE_FUSED_ATTN: '1', NVTE_UNFUSED_ATTN: '1' },
  flash: { NVTE_FLASH_ATTN: '1', NVTE_FUSED_ATTN: '0', NVTE_UNFUSED_ATTN: '0' },
  fused: { NVTE_FLASH_ATTN: '0', NVTE_FUSED_ATTN: '1', NVTE_UNFUSED_ATTN: '0' },
  unfused: { NVTE_FLASH_ATTN: '0', NVTE_FUSED_ATTN: '0', NVTE_UNFUSED_ATTN: '1' },
  local: { NVTE_FLASH_ATTN: '0', NVTE_FUSED_ATTN: '0', NVTE_UNFUSED_ATTN: '0' },
};

const CONTRADICTED = any(
  ...Object.entries(BACKENDS).map(([backend, variables]) =>
    all(
      is('attention_backend', backend),
      any(...Object.entries(variables).map(([name, value]) => envNot(name, null, value))),
    ),
  ),
);

export const ENVIRONMENT_RULES: readonly LintRule[] = [
  {
    id: 'soft-record-streams',
    severity: 'warning',
    message: 'TORCH_NCCL_AVOID_RECORD_STREAMS=0 keeps the buffers of NCCL alive until their streams are done.',
    when: env('TORCH_NCCL_AVOID_RECORD_STREAMS', '0'),
    fix: 'export TORCH_NCCL_AVOID_RECORD_STREAMS=1.',
    error: null,
    source: `${GUIDES}, memory`,
    evidence: 'documented',
    statements: ['guide.env-record-streams', 'nemo.env-scripts-set', 'mb.env-not-claimed'],
    fails: [{ config: {}, env: { TORCH_NCCL_AVOID_RECORD_STREAMS: '0' } }],
    passes: [{ config: {}, env: { TORCH_NCCL_AVOID_RECORD_STREAMS: '1' } }, { config: {} }],
    unknown: [{ config: {}, env: 'unknown' }],
  },
  {
    id: 'soft-nvls',
    severity: 'note',
    message: 'NCCL_NVLS_ENABLE=1 keeps buffers for NVLink SHARP on the GPU.',
    // User buffers are what NVLink SHARP is for.
    when: all(env('NCCL_NVLS_ENABLE', '1'), off('nccl_ub')),
    fix: 'export NCCL_NVLS_ENABLE=0 where NVLink SHARP is not used.',
    error: null,
    source: `${GUIDES}, memory`,
    evidence: 'documented',
    statements: ['guide.env-nvls-off', 'nemo.env-scripts-set', 'mb.env-not-claimed'],
    fails: [{ config: { nccl_ub: false }, env: { NCCL_NVLS_ENABLE: '1' } }],
    passes: [
      { config: { nccl_ub: false }, env: { NCCL_NVLS_ENABLE: '0' } },
      { config: { nccl_ub: true }, env: { NCCL_NVLS_ENABLE: '1' } },
      { config: { nccl_ub: false } },
    ],
    unknown: [{ config: { nccl_ub: false }, env: 'unknown' }],
  },
  {
    id: 'soft-recipe-env',
    severity: 'note',
    message:
      'Variables that all recipes of Megatron Bridge set are missing (those with None): NCCL_GRAPH_REGISTER={NCCL_GRAPH_REGISTER}, NCCL_NVLS_ENABLE={NCCL_NVLS_ENABLE}, TORCH_NCCL_AVOID_RECORD_STREAMS={TORCH_NCCL_AVOID_RECORD_STREAMS}, TORCH_NCCL_HIGH_PRIORITY={TORCH_NCCL_HIGH_PRIORITY}.',
    when: all(IN_BRIDGE, RECIPE_MISSING),
    fix: `export ${Object.entries(RECIPE_ENV)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')} before the launch.`,
    error: null,
    source: 'Megatron Bridge scripts/performance, env_vars of the recipes',
    evidence: 'config',
    statements: ['mem.expandable-in-templates', 'mem.slurm-env-block', 'nemo.env-scripts-set', 'guide.preconfigured'],
    fails: [
      { config: {}, framework: 'megatron-bridge' },
      { config: {}, env: { NCCL_NVLS_ENABLE: '0', NCCL_GRAPH_REGISTER: '0' }, framework: 'megatron-bridge' },
    ],
    passes: [
      { config: {}, env: RECIPE_ENV, framework: 'megatron-bridge' },
      { config: {}, framework: 'megatron-lm' },
    ],
    unknown: [{ config: {}, env: 'unknown', framework: 'megatron-bridge' }],
  },
  {
    id: 'soft-ln-sm-margin',
    severity: 'note',
    message:
      'Communication of data parallelism overlaps with compute, but the persistent kernels of LayerNorm take all SMs and start only when it ends.',
    when: all(
      any(on('overlap_grad_reduce'), on('overlap_param_gather')),
      any(env('NVTE_FWD_LAYERNORM_SM_MARGIN', null), env('NVTE_BWD_LAYERNORM_SM_MARGIN', null)),
    ),
    fix: 'export NVTE_FWD_LAYERNORM_SM_MARGIN=16 NVTE_BWD_LAYERNORM_SM_MARGIN=16 (the SMs of the collectives).',
    error: null,
    source: `${GUIDES}, communication overlap`,
    evidence: 'documented',
    statements: ['guide.ln-sm-margin', 'guide.dp-overlap'],
    fails: [
      { config: { overlap_grad_reduce: true } },
      { config: { overlap_param_gather: true }, env: { NVTE_FWD_LAYERNORM_SM_MARGIN: '16' } },
    ],
    passes: [
      {
        config: { overlap_grad_reduce: true },
        env: { NVTE_FWD_LAYERNORM_SM_MARGIN: '16', NVTE_BWD_LAYERNORM_SM_MARGIN: '16' },
      },
      { config: { overlap_grad_reduce: false, overlap_param_gather: false } },
    ],
    unknown: [{ config: { overlap_grad_reduce: true }, env: 'unknown' }],
  },
  {
    id: 'offload-nccl-env',
    severity: 'note',
    message:
      'Activations that are offloaded share the way to the host with network traffic, and NCCL is not told to keep out of the way.',
    when: all(
      on('cpu_offloading'),
      any(
        all(before('nccl', '2.26'), envNot('NCCL_NET_GDR_LEVEL', 'PHB')),
        all(since('nccl', '2.26'), envNot('NCCL_NET_GDR_C2C', '1')),
      ),
    ),
    fix: 'export NCCL_NET_GDR_LEVEL=PHB up to NCCL 2.25, NCCL_NET_GDR_C2C=1 from 2.26 on.',
    error: null,
    source: `${GUIDES}, activation offloading`,
    evidence: 'documented',
    statements: ['guide.offload-nccl-env', 'guide.offload-bandwidth'],
    fails: [
      { config: { cpu_offloading: true }, versions: { nccl: '2.25.1' } },
      {
        config: { cpu_offloading: true },
        env: { NCCL_NET_GDR_LEVEL: 'PHB' },
        versions: { nccl: '2.27.3' },
      },
    ],
    passes: [
      { config: { cpu_offloading: true }, env: { NCCL_NET_GDR_LEVEL: 'PHB' }, versions: { nccl: '2.25.1' } },
      { config: { cpu_offloading: true }, env: { NCCL_NET_GDR_C2C: '1' }, versions: { nccl: '2.27.3' } },
      { config: { cpu_offloading: false }, versions: { nccl: '2.27.3' } },
    ],
    unknown: [{ config: { cpu_offloading: true } }],
  },
  {
    id: 'soft-nvte-typo',
    severity: 'warning',
    message: 'NVTE_FLASH_ATT, NVTE_FUSED_ATT and NVTE_UNFUSED_ATT are misspelt, and nothing reads them.',
    when: any(
      ...['NVTE_FLASH_ATT', 'NVTE_FUSED_ATT', 'NVTE_UNFUSED_ATT'].map((name) => envTest(name, 'set', () => true)),
    ),
    fix: 'Use attention_backend, or NVTE_FLASH_ATTN, NVTE_FUSED_ATTN and NVTE_UNFUSED_ATTN.',
    error: null,
    source: 'NeMo performance guide, attention',
    evidence: 'documented',
    statements: ['nemo.attn-env'],
    fails: [
      { config: {}, env: { NVTE_FLASH_ATT: '1' } },
      { config: {}, env: { NVTE_FUSED_ATT: '1' } },
    ],
    passes: [{ config: {}, env: { NVTE_FLASH_ATTN: '1' } }, { config: {} }],
    unknown: [{ config: {}, env: 'unknown' }],
  },
  {
    id: 'nvte-conflict',
    severity: 'error',
    message: 'A variable of Transformer Engine says something else than attention_backend={attention_backend}.',
    when: all(not(is('attention_backend', null)), CONTRADICTED),
    fix: 'Unset NVTE_FLASH_ATTN, NVTE_FUSED_ATTN and NVTE_UNFUSED_ATTN, and set attention_backend.',
    error: 'for attention backend type',
    source: 'Megatron-LM megatron/core/models/common/language_module/language_module.py _set_attention_backend',
    evidence: 'asserted',
    statements: ['mb.attn-backend', 'nemo.attn-env'],
    fails: [
      { config: { attention_backend: 'flash' }, env: { NVTE_FLASH_ATTN: '0' } },
      { config: { attention_backend: 'fused' }, env: { NVTE_FLASH_ATTN: '1' } },
      { config: { attention_backend: 'auto' }, env: { NVTE_FUSED_ATTN: '0' } },
      { config: { attention_backend: 'local' }, env: { NVTE_UNFUSED_ATTN: '1' } },
    ],
    passes: [
      { config: { attention_backend: 'flash' }, env: { NVTE_FLASH_ATTN: '1', NVTE_FUSED_ATTN: '0' } },
      { config: { attention_backend: 'unfused' }, env: { NVTE_UNFUSED_ATTN: '1' } },
      { config: { attention_backend: 'auto' } },
    ],
    unknown: [{ config: { attention_backend: 'flash' }, env: 'unknown' }],
  },
];
