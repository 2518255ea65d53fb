/** PyTorch's own advice, held against figures and configuration. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stepsOf } from '../../../src/findings/verdict/describe-answers.js';
import { allowedSteps, judgeHint as findHint } from '../../../src/findings/verdict/hint.js';
import type { HintResult, VerdictResult as Verdict } from '../../../src/model/results/common.js';
import { statement } from '../../../src/model/statement.js';
import { GIB } from '../../../src/model/units.js';
import { stepText } from '../../../src/report/verdict/step-words.js';
import { wordHint } from '../../../src/report/verdict/word-verdict.js';
import { scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { expectScreen } from '../../support/screen.js';
import { exact, messageFacts, tracedFacts } from './facts.js';
import { diagnose } from './worded.js';

function judgeHint(...question: Parameters<typeof findHint>): HintResult | null {
  const hint = findHint(...question);
  return hint === null ? null : wordHint(hint);
}

const AWAY = {
  expandableSegments: false,
  maxSplitBytes: Number.POSITIVE_INFINITY,
  source: { path: 'snapshot', entry: 7 },
};

describe('the hint', () => {
  it('does not apply where it was followed already', () => {
    const facts = tracedFacts({ allocator: { ...AWAY, expandableSegments: true } });
    for (const cause of ['capacity', 'fragmentation', 'external_pressure'] as const)
      expect(judgeHint(facts, { cause }, null)).toMatchObject({
        verdict: 'already_on',
        source: 'snapshot entry 7',
      });
  });

  it('cannot explain a full device: the figures say how little is unallocated', () => {
    // 1 GiB of 78 reserved is not in use; 77 + 4 exceed 79.
    expect(judgeHint(tracedFacts(), { cause: 'capacity' }, null)).toMatchObject({
      verdict: 'cannot_explain',
      text: expect.stringContaining('1.00 GiB reserved but unallocated (1.3 %) cannot serve the request'),
    });
    expect(judgeHint(messageFacts(), { cause: 'capacity' }, null)).toMatchObject({ verdict: 'cannot_explain' });
    expect(judgeHint(tracedFacts({ privatePoolFree: exact(GIB) }), { cause: 'graph_pools' }, null)).toMatchObject({
      verdict: 'cannot_explain',
      text: expect.stringContaining('private pools'),
    });
  });

  it('is right where memory is fragmented, unknown where nothing tells of the setting, forbidden where the run says so', () => {
    const facts = tracedFacts({ allocated: exact(60 * GIB) });
    expect(judgeHint(facts, { cause: 'fragmentation' }, null)?.verdict).toBe('applies');
    expect(judgeHint({ ...facts, allocator: null }, { cause: 'fragmentation' }, null)?.verdict).toBe('unknown');
    // Before torch 2.2 the message has another one.
    const old = judgeHint(
      { ...facts, allocator: null },
      { cause: 'fragmentation' },
      null,
      'try setting max_split_size_mb',
    );
    expect(old?.text).toContain('max_split_size_mb');
    expect(old?.text).not.toContain('expandable_segments:True');
    expect(judgeHint(facts, { cause: 'fragmentation', rules: [statement('refuted_by_replay')] }, null)).toMatchObject({
      verdict: 'cannot_explain',
      text: expect.stringContaining('replayed with it, the run fails too'),
    });
    const constraint = { text: 'NCCL user buffers forbid it', source: 'run.yaml line 3' };
    expect(judgeHint(facts, { cause: 'fragmentation' }, constraint)).toMatchObject({
      verdict: 'forbidden',
      source: 'run.yaml line 3',
    });
  });

  it('is not judged where no caching allocator ran out or nothing is decided', () => {
    expect(judgeHint(tracedFacts(), { cause: 'host_oom' }, null)).toBeNull();
    expect(judgeHint(tracedFacts({ allocated: exact(60 * GIB) }), { cause: 'undecided' }, null)).toBeNull();
    expect(judgeHint(messageFacts({ request: null }), { cause: 'fragmentation' }, null)).toBeNull();
  });
});

const FRAGMENTED =
  '[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free. ' +
  'Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 16.00 GiB is reserved by PyTorch but unallocated.';
const QUOTED =
  ' If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.';

async function verdictOf(script: string, log = '', advice = QUOTED): Promise<Verdict> {
  const root = realpathSync(scratchDirectory());
  mkdirSync(join(root, 'run'));
  writeFileSync(join(root, 'run', 'train.log'), `${log}${FRAGMENTED}${advice}\n`);
  writeFileSync(join(root, 'run', 'launch.sbatch'), `#!/bin/bash\n#SBATCH --nodes=1\n${script}\n`);
  const { store } = await ingested(join(root, 'store.duckdb'), [join(root, 'run')]);
  try {
    const result = await diagnose(store, 1, 'run');
    expectScreen(result);
    return result.verdicts[0]!;
  } finally {
    await store.close();
  }
}

describe('advice', () => {
  const constraint = { text: 'NCCL user buffers forbid it: drop one of the two', source: 'run.yaml line 3' };
  const cure = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';

  it('never names what the configuration forbids, whichever verdict gives it', () => {
    // As a replay of a capacity OOM gives it, and as a fragmentation verdict gives it next to other advice.
    const given = stepsOf([
      'expandable_first',
      { kind: 'raise_max_split', names: { or: 'expandable_segments' } },
      'resume',
    ]);
    expect(allowedSteps(given, constraint)).toMatchObject([
      { kind: 'expandable_first', status: 'forbidden', because: constraint },
      { kind: 'raise_max_split', status: 'open', names: {} },
      { kind: 'resume', status: 'open', because: null },
    ]);
    expect(allowedSteps(given, constraint).map(stepText)).toEqual([
      'expandable_segments:True would help, but NCCL user buffers forbid it: drop one of the two (run.yaml line 3)',
      'raise or drop max_split_size_mb',
      'resume from the last checkpoint',
    ]);
    expect(allowedSteps(given, null).map(stepText)).toEqual([
      `${cure} on every rank costs no throughput: try it first`,
      'raise or drop max_split_size_mb; expandable_segments:True makes it unnecessary',
      'resume from the last checkpoint',
    ]);
  });
});

describe('a message without the hint', () => {
  it('is not judged as if it had one: torch 2.14 leaves it out with expandable segments on', async () => {
    const command = 'srun python pretrain_gpt.py';
    expect((await verdictOf(command)).hint).not.toBeNull();
    const verdict = await verdictOf(command, '', '');
    expect(verdict.hint).toBeNull();
    expect(JSON.stringify(verdict)).not.toContain("PyTorch's hint");
  });
});

describe('a configuration that forbids expandable segments', () => {
  it('is found with its place, and the advice changes with it', async () => {
    const buffers = await verdictOf('srun python pretrain_gpt.py --use-nccl-ub --tensor-model-parallel-size 4');
    expect(buffers.hint).toMatchObject({
      verdict: 'forbidden',
      source: expect.stringMatching(/launch\.sbatch line \d/),
    });
    expect(buffers.hint!.text).toContain('before torch 2.11');
    expect(buffers.next.join(' ')).not.toContain('PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True');
    expect(buffers.next.join(' ')).toContain('drop one of the two');
  });

  it('reports what CUDA graphs need next to it, and nothing where they have it', async () => {
    const command = 'srun python pretrain_gpt.py --cuda-graph-impl transformer_engine --tensor-model-parallel-size 4';
    const graphs = await verdictOf(command);
    expect(graphs.hint).toMatchObject({ verdict: 'forbidden' });
    expect(graphs.hint!.text).toContain('only together with NCCL_GRAPH_REGISTER=0');
    const settled = await verdictOf(`export NCCL_GRAPH_REGISTER=0\n${command}`);
    expect(settled.hint!.verdict).not.toBe('forbidden');
    const none = await verdictOf('srun python pretrain_gpt.py --cuda-graph-impl none --tensor-model-parallel-size 4');
    expect(none.hint!.verdict).not.toBe('forbidden');
  });
});
