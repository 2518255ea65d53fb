/** What is replaced in a text, what stays, and that places do not move. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NameCollector } from '../../src/redact/collect-names.js';
import { Names } from '../../src/redact/names.js';
import { Pseudonyms } from '../../src/redact/pseudonyms.js';
import { Rewriter } from '../../src/redact/rewriter.js';
import { oneCharAByte, utf8 } from '../../src/text/text-lines.js';
import { runs, SEED } from '../support/level.js';

const KEY = Buffer.alloc(32, 7);

/** The text after both passes. */
function redacted(text: string, frames: readonly (readonly [file: string, name: string])[] = [], key = KEY) {
  const names = new Names();
  const collector = new NameCollector(names);
  for (const [file, name] of frames) collector.frame(file, name);
  for (const line of oneCharAByte(text).split('\n')) collector.take(line);
  const rewriter = new Rewriter(names, new Pseudonyms(key));
  const result = rewriter.rewrite(oneCharAByte(text));
  expect(result.length).toBe(oneCharAByte(text).length);
  return { text: utf8(result), restored: utf8(rewriter.restore(result)) };
}

describe('names in text', () => {
  it.each([
    ['/home/zorblatt/x.py and zorblatt@node', 'zorblatt'],
    ['cd /lustre/fs1/quuxly/run; ls quuxly', 'quuxly'],
    ['user: zq7x, host /home/zq7x', '/zq7x'],
    ['"path": "C:\\\\Users\\\\zorblatt\\\\run"', 'zorblatt'],
    ['/home/zorblatt\n"\\nzorblatt" %2Fzorblatt \u001b[32mzorblatt', 'zorblatt'],
    ['--wandb-project=plughmoe-v2 train PlughmoeModel plughmoe_step', 'lughmoe'],
    ['{"wandb_entity": "snarfworks"} snarfworks/x', 'snarf'],
    ['#SBATCH -A nxq\n#SBATCH --account=nxq', 'nxq'],
    ['s3://wibblebucket/data/x.bin', 'wibble'],
    ['git@git.zanthor.io:snarf/gruntle.git', 'zanthor'],
    ['/home/Müllerowitsch/run', 'llerowitsch'],
    ['/data/秘密計画/run.py', '秘密'],
    ['host dgx-h100-a-017: ok\nhost=dgx-h100-a-017', 'dgx-h100-a'],
    ['/data/datasets/zebracorp/streaming/quuxly.bin', 'quuxly'],
    ['/opt/megatron-lm/megatron/core/models/zebracorp/zebracorp_model.py', 'zebracorp'],
    ['inet 10.3.77.9 netmask', '10.3.77.9'],
  ])('%j has none afterwards', (text, planted) => {
    const after = redacted(text);
    expect(after.text).not.toContain(planted);
    expect(after.text.toLowerCase()).not.toContain(planted.toLowerCase());
    expect(after.restored).toBe(text);
  });

  it.each([
    ' [2026-03-04 05:06:12.123456] iteration       12/     400 | consumed samples:         3072 | lm loss: 7.6',
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB',
    '  File "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1773, in _wrapped_call_impl',
    '  File "/opt/megatron-lm/megatron/core/transformer/attention.py", line 12, in forward',
    'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
    'model.tensor_model_parallel_size=4 model.recompute_modules=[core_attn]',
    'nvidia-cublas-cu12==12.8.3.14 NCCL version 2.27.5+cuda12.9',
    'See https://pytorch.org/docs/stable/notes/cuda.html#environment-variables',
    'KthvalueBackward0_apply_functional /opt/megatron-lm/megatron/core/transformer/transformer_block',
    'time (ms) | forward-compute: 12.50 | train/valid/test data iterators: 7.25',
  ])('%j stays', (text) => {
    expect(redacted(text).text).toBe(text);
  });

  it('keeps what rules of attribution match, and what makes hosts of a list equal', () => {
    const { text } = redacted('x', [['/home/u/zanyattention.py', 'zany_mlp']]);
    expect(text).toBe('x');
    const frame = redacted('/home/u/zanyattention.py zany_mlp', [['/home/u/zanyattention.py', 'zany_mlp']]).text;
    expect(frame).toMatch(/^\/home\/\w\/[a-z]{4}attention\.py [a-z]{4}_mlp$/);
    const hosts = redacted('nodes qx-h100-[001-016]\nqx-h100-003: ok\nhost: qx-h100-003').text;
    const [, stem] = /nodes (\S+)\[/.exec(hosts)!;
    expect(hosts).toContain(`${stem}003: ok`);
  });

  it('maps addresses of one network to one network', () => {
    const { text } = redacted('addr 10.3.77.9 addr 10.3.77.12 addr 10.3.88.9');
    const [a, b, c] = text.match(/\d+\.\d+\.\d+\.\d+/g)!.map((address) => address.split('.'));
    expect(a!.slice(0, 3)).toEqual(b!.slice(0, 3));
    expect(a!.slice(0, 2)).toEqual(c!.slice(0, 2));
    expect(a![2]).not.toBe(c![2]);
  });

  it('needs the key', () => {
    const text = '/home/zorblatt/gruntle';
    expect(redacted(text).text).toBe(redacted(text).text);
    expect(redacted(text).text).not.toBe(redacted(text, [], Buffer.alloc(32, 8)).text);
  });

  it('replaces any private name of any frame, and gives it back', () => {
    // Of letters of which no word of a rule consists: what is left next to such a word is short, and may come again.
    const letters = (least: number, most: number) =>
      fc.string({ unit: fc.constantFrom(...'jkqvwxyz'), minLength: least, maxLength: most });
    const word = letters(5, 12).map((text) => `zq${text}`);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, word, word), { minLength: 1, maxLength: 6 }),
        fc.constantFrom('/home/u/', '/workspace/', '/opt/venv/lib/python3.12/site-packages/', './', '/mnt/ml/'),
        fc.constantFrom('', '_forward', '.forward', '2', 'Layer'),
        (triples, head, tail) => {
          const frames = triples.map(([a, b, c]): [string, string] => [`${head}${a}/${b}.py`, `${c}${tail}`]);
          const text = frames.map(([file, name]) => `  File "${file}", line 3, in ${name}`).join('\n');
          const after = redacted(text, frames);
          for (const planted of triples.flat()) expect(after.text).not.toContain(planted);
          expect(after.restored).toBe(text);
        },
      ),
      { numRuns: runs(100, 2000), seed: SEED },
    );
  });
});
