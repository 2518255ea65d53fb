import { describe, expect, it } from 'vitest';
import { classifyException } from '../../parsers/log/classify-exception.js';
import { applyBlock, applyLine } from '../../parsers/log/formats/apply.js';
import { FAILURE_FORMATS } from '../../parsers/log/formats/failures.js';
import { constraintOf, constraintTexts } from '../../src/knowledge/constraint-texts.js';
import { samplesOf } from '../support/log-samples.js';

describe('blocks of failures', () => {
  it('take every line of their samples', () => {
    for (const format of FAILURE_FORMATS) {
      if (format.form !== 'block') continue;
      for (const { lines } of samplesOf(format)) expect(applyBlock(format, lines, () => {})).toBe(lines.length);
    }
  });
});

describe('patterns of failures', () => {
  it('cannot be stalled by a line', () => {
    const hostile = [
      '[Rank 1] '.repeat(8000),
      '[PG ID 0 '.repeat(8000),
      'a.'.repeat(40_000),
      `srun: error: n1: tasks ${'1,'.repeat(40_000)}`,
      '\t'.repeat(80_000),
      '['.repeat(80_000),
    ];
    for (const format of FAILURE_FORMATS) {
      const ofFormat = format.anchors.flatMap((anchor) => [
        `${anchor} `.repeat(3000),
        `${anchor}${' '.repeat(50_000)}`,
        `${anchor}${'('.repeat(50_000)}`,
      ]);
      for (const text of [...ofFormat, ...hostile]) {
        if (format.form === 'line') applyLine(format, text, () => {});
        else applyBlock(format, [samplesOf(format)[0]!.lines[0]!, text, text], () => {});
      }
    }
  });

  it('have fields for their groups, anchors of eight bytes and unique ids', () => {
    expect(new Set(FAILURE_FORMATS.map(({ id }) => id)).size).toBe(FAILURE_FORMATS.length);
    for (const format of FAILURE_FORMATS) {
      for (const anchor of format.anchors) expect(anchor.length, anchor).toBeGreaterThanOrEqual(8);
      if (format.form !== 'line') continue;
      const groups = [...format.pattern.source.matchAll(/\(\?<(\w+)>/g)].map(([, name]) => name!);
      expect(Object.keys(format.fields).sort(), format.id).toEqual([...new Set(groups)].sort());
    }
  });
});

describe('constraints', () => {
  it('are known by their texts, wrapped, quoted and in other case', () => {
    for (const { id, texts } of constraintTexts()) {
      for (const text of texts) {
        expect(constraintOf(`x ${text} y`)?.id, text).toBeTruthy();
        expect(constraintOf(text.toUpperCase().replaceAll(' ', '\n  '))?.id, text).toBeTruthy();
      }
      expect(
        texts.some((text) => constraintOf(text)?.id === id),
        id,
      ).toBe(true);
    }
    expect(constraintOf('list index out of range')).toBeNull();
    expect(constraintOf('CUDA out of memory. Tried to allocate 20.00 MiB')).toBeNull();
  });

  it.each([
    ['ValueError', 'Currently there is no support for Pipeline parallelism with CPU offloading', 'offload-pp'],
    [
      'ValueError',
      'number of layers on each middle pipeline rank:7 must be divisible by virtualpipeline parallel degree 2',
      'vpp-div',
    ],
    [
      'ValueError',
      'number of layers at first stage: 5must be divisible by virtual pipelineparallel degree 2',
      'vpp-div',
    ],
    [
      'AssertionError',
      'Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.',
      'graph-nccl-te',
    ],
    ['AssertionError', 'Full recompute is only supported with full iteration CUDA graph.', 'graph-full-rc'],
    [
      'AssertionError',
      'disable moe in recompute_modules when enabling overlap_moe_expert_parallel_comm',
      'rc-ep-overlap',
    ],
    [
      'AssertionError',
      'disable moe_shared_expert_overlap when enabling overlap_moe_expert_parallel_comm',
      'ep-overlap-misc',
    ],
    ['AssertionError', 'main_params_dtype can only be fp32 when not using precision-aware optimizer', 'do-dtypes'],
    ['ValueError', 'Cannot use sequence parallelism without tensor parallelism. It needs a size above 1.', 'sp-tp'],
    [
      'AssertionError',
      'Sequence length must be divisible by 2 * context parallel size if context parallel is used.',
      'cp-seq',
    ],
    [
      'AssertionError',
      'AnnealingLR: class input value 1e-06 and checkpointvalue 1e-05 for minimum learning rate do not match',
      'ckpt-mismatch',
    ],
  ])('%s: %s', (name, message, id) => {
    expect(classifyException(name, message)).toEqual({ kind: 'config_error', constraint: id });
  });
});

describe('exceptions', () => {
  it.each([
    ['MemoryError', '', 'host_oom'],
    [
      'torch.distributed.DistStoreError',
      'Timed out after 601 seconds waiting for clients. 1/2 clients joined.',
      'timeout',
    ],
    ['torch.distributed.DistBackendError', 'NCCL communicator was aborted on rank 3.', 'nccl_unknown'],
    [
      'torch.distributed.DistBackendError',
      '[1] is setting up NCCL communicator … got error: Connection reset by peer',
      'connection_lost',
    ],
    ['ConnectionResetError', '[Errno 104] Connection reset by peer', 'connection_lost'],
    ['RuntimeError', 'CUDA error: uncorrectable ECC error encountered', 'hardware'],
    ['omegaconf.errors.ConfigAttributeError', "Key 'x' is not in struct", 'config_error'],
    ['hydra.errors.ConfigCompositionException', 'Could not override', 'config_error'],
    ['TypeError', "TransformerConfig.__init__() got an unexpected keyword argument 'x'", 'config_error'],
    ['ModuleNotFoundError', "No module named 'x'", 'other'],
    ['FileNotFoundError', '[Errno 2] No such file or directory', 'other'],
    ['KeyError', "'x'", 'other'],
    ['SystemExit', '1', 'other'],
  ] as const)('%s: %s is %s', (name, message, kind) => {
    expect(classifyException(name, message)?.kind).toBe(kind);
  });

  it('that are not failures get no kind', () => {
    expect(classifyException('KeyboardInterrupt', '')).toBeNull();
    expect(classifyException('SystemExit', '0')).toBeNull();
    expect(classifyException('torch.distributed.elastic.multiprocessing.errors.ChildFailedError', '')).toBeNull();
  });
});
