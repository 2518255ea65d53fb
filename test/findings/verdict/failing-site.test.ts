/** Logs of failures: where they failed, what was being allocated, what the size means, and the first fix. */
import { describe, expect, it } from 'vitest';
import { expectScreen } from '../../support/screen.js';
import { runsOfFiles } from './runs-of-files.js';

/** `requested`, `live` in GiB. The device is full. */
function oom(requested: string, live: string, rank = 0): string {
  return (
    `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${requested}. GPU ${rank} has a total capacity of ` +
    `79.33 GiB of which 21.81 MiB is free. Including non-PyTorch memory, this process has 79.30 GiB memory in use. Of ` +
    `the allocated memory ${live} GiB is allocated by PyTorch, and 50.18 MiB is reserved by PyTorch but unallocated.`
  );
}

type Frame = readonly [file: string, name: string, code?: string];

/** Outermost first. `header: false`: cut off, as people paste it. */
function traceback(frames: readonly Frame[], error: string, { header = true, rank = -1 } = {}): string {
  const lines = [
    ...(header ? ['Traceback (most recent call last):'] : []),
    ...frames.flatMap(([file, name, code]) => [
      `  File "${file}", line 31, in ${name}`,
      ...(code === undefined ? [] : [`    ${code}`]),
    ]),
    error,
  ];
  return lines.map((line) => `${rank < 0 ? '' : `[rank${rank}]: `}${line}\n`).join('');
}

const SITE = '/v/lib/python3.12/site-packages';
const LOADING: readonly Frame[] = [['/srv/tune/start.py', 'load_model', 'net = everything(options)']];
const LOGITS: readonly Frame[] = [
  ['/srv/rl/policy.py', 'sampled_logprobs', 'values = pick_logprobs(all_logits.float(), tokens)'],
];
const CONFIG = 'vocab_size: 128000\nper_device_train_batch_size: 1\nmax_seq_length: 16384\n';

const RUNS = {
  'every-rank-loads': {
    'err.txt': [2, 3]
      .map((rank) => traceback(LOADING, oom('512.00 MiB', '78.60', rank), { header: false, rank }))
      .join(''),
  },
  'one-rank-loads': { 'err.txt': traceback(LOADING, oom('512.00 MiB', '78.60')) },
  'unlike-ranks-load': {
    'err.txt':
      traceback(LOADING, oom('512.00 MiB', '78.60', 2), { rank: 2 }) +
      traceback(LOADING, oom('512.00 MiB', '60.10', 3), { rank: 3 }),
  },
  experts: {
    'err.txt': traceback(
      [
        ['/srv/pretrain.py', '<module>'],
        [`${SITE}/megatron/core/transformer/moe/experts.py`, '__init__'],
        [`${SITE}/transformer_engine/pytorch/module/grouped_linear.py`, '__init__'],
      ],
      oom('48.00 MiB', '79.20'),
      { rank: 97 },
    ),
  },
  logits: { 'err.txt': traceback(LOGITS, oom('50.00 GiB', '78.60'), { header: false }) },
  'logits-of-a-known-vocabulary': {
    'err.txt': traceback(LOGITS, oom('7.81 GiB', '78.60')),
    'config.yaml': CONFIG,
  },
  'second-copy': { 'err.txt': traceback([['/srv/a.py', 'average', 'shadow = clone(net)']], oom('39.40 GiB', '39.40')) },
  'beyond-device': {
    'err.txt': traceback([['/srv/a.py', 'mix', 'z = x[:, None] - y[None]']], oom('640.00 GiB', '70.00')),
  },
  'state-dict-warning': {
    'err.txt':
      `/v/torch/distributed/fsdp/_state_dict_utils.py:294: UserWarning: Failed to clone() tensor with name head.weight ` +
      `on rank 0. This may mean that this state_dict entry could point to invalid memory regions after returning from ` +
      `state_dict() call if this parameter is managed by FSDP. Please check clone implementation of head.weight. ` +
      `Error: ${oom('512.00 MiB', '79.10').replace('torch.OutOfMemoryError: ', '')}\n`,
  },
  'cut-box': {
    'err.txt': `│ ❱  905 │   return t.to(device, dtype if t.is_fl │\n╰───╯\n${oom('64.00 MiB', '79.20')}\n`,
  },
  'code-line': { 'err.txt': `    model = load_model(options)\n            ^^^^^^^^^\n${oom('64.00 MiB', '79.20')}\n` },
  'frames-behind': {
    'err.txt': `${oom('2.00 GiB', '77.60')}\n\nFile "rl/loss.py", line 15, in log_probs\n    p = pick_logprobs(logits)\n`,
  },
  'another-rank': {
    'err.txt': `[rank4]: ${oom('64.00 MiB', '79.20', 4)}\n${traceback(LOADING, oom('64.00 MiB', '60.10', 5), { rank: 5 })}`,
  },
  evaluating: {
    'err.txt': `Epoch (train): 100% 9/9 [00:09<00:00]\nEpoch (valid):  11% 1/9 [00:01<00:08]\n${oom('1.00 GiB', '78.60')}\n`,
  },
  'no-traceback': { 'err.txt': `${oom('1.00 GiB', '78.60')}\n` },
};

const { diagnosed } = runsOfFiles(RUNS);

async function siteOf(run: keyof typeof RUNS) {
  const result = await diagnosed(run, { advises: true });
  expectScreen(result);
  const [verdict] = result.verdicts;
  const site = verdict?.evidence.find(({ kind }) => kind === 'failing_site');
  return { text: site?.text ?? null, names: site?.names ?? {}, fix: result.advice?.fixes[0]?.id ?? null, verdict };
}

describe('the failing line of a log', () => {
  it.each([
    ['every-rank-loads', 'weight_loading', 'equal_ranks', 'shard-weights'],
    ['one-rank-loads', 'weight_loading', undefined, 'shard-weights'],
    ['unlike-ranks-load', 'weight_loading', undefined, 'shard-weights'],
    ['experts', 'model_construction', undefined, 'shard-weights'],
    ['logits', 'logits_loss', 'one_tensor', 'chunked-loss'],
    ['logits-of-a-known-vocabulary', 'logits_loss', 'tokens', 'chunked-loss'],
    ['second-copy', undefined, 'like_live', 'smaller-batch'],
    ['state-dict-warning', 'checkpoint_save', undefined, 'save-on-host'],
    ['cut-box', 'weight_loading', undefined, 'shard-weights'],
    ['code-line', 'weight_loading', undefined, 'shard-weights'],
    ['frames-behind', 'logits_loss', undefined, 'chunked-loss'],
    ['another-rank', 'weight_loading', undefined, 'shard-weights'],
    ['evaluating', 'evaluation', undefined, 'smaller-evaluation'],
    ['beyond-device', undefined, 'beyond_device', 'look-at-tensor'],
  ] as const)('%s: %s, size %s, first %s', async (run, activity, size, fix) => {
    const answer = await siteOf(run);
    expect(answer.verdict?.cause).toBe('capacity');
    expect(answer.names).toEqual(expect.objectContaining({ ...(activity && { activity }), ...(size && { size }) }));
    if (activity === undefined) expect(answer.names).not.toHaveProperty('activity');
    if (size === undefined) expect(answer.names).not.toHaveProperty('size');
    expect(answer.fix).toBe(fix);
  });

  it('is one sentence, with the function, the activity, the size and the code', async () => {
    expect((await siteOf('every-rank-loads')).text).toBe(
      'failed in load_model srv/tune/start.py:31, while loading weights; 2 ranks hold the same 78.60 GiB, as they do where nothing is sharded (`net = everything(options)`)',
    );
    expect((await siteOf('logits')).text).toMatch(
      /^failed in sampled_logprobs srv\/rl\/policy\.py:31, while computing logits, .*; one tensor of 50\.00 GiB/,
    );
  });

  it('counts the tokens only where the vocabulary or the sequence is known', async () => {
    const { text } = await siteOf('logits-of-a-known-vocabulary');
    expect(text).toMatch(/7\.81 GiB are about 16,3[78]\d tokens × a vocabulary of 128,000 × 4 bytes/);
    expect((await siteOf('logits')).text).not.toContain('vocabulary of');
  });

  it('names a warning, and another rank whose frames it has', async () => {
    expect((await siteOf('state-dict-warning')).text).toBe(
      'failed while saving a checkpoint; a warning: training goes on, and the saved file may be incomplete',
    );
    expect((await siteOf('another-rank')).text).toMatch(/^rank 5 failed in load_model /);
  });

  it('is nothing without a traceback', async () => {
    expect((await siteOf('no-traceback')).text).toBeNull();
  });
});
