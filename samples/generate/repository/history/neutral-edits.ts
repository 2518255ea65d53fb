/** Commits that concern people and settings: documentation, tests, keys without a lasting effect on time, and with hardly any on memory. */
import { pick, type Random, wholeBetween } from '../../simulate/random.js';
import { applyEdit, type ConfigEdit, type Tree } from './tree.js';

const SENTENCES = [
  'Recipes can be overridden key by key.',
  'See the performance guide before touching overlap settings.',
  'Golden values are refreshed once a month.',
  'Snapshots of rank 0 are kept for a week.',
  'The nightly run trains for twelve steps.',
  'Use `torch.cuda.memory._snapshot()` to see what is live.',
];

export function editDocumentation(random: Random, tree: Tree): string {
  const path = pick(random, ['README.md', 'docs/performance-guide.md', 'CHANGELOG.md']);
  const sentence = pick(random, SENTENCES);
  tree.set(path, `${tree.get(path)!.trimEnd()}\n* ${sentence}\n`);
  return pick(random, [`Update ${path}`, `docs: ${sentence.replace(/\.$/, '')}`]);
}

export function editTests(random: Random, tree: Tree): string {
  const path = pick(
    random,
    [...tree.keys()].filter((name) => name.startsWith('tests/') && name.endsWith('.py')).sort(),
  );
  const text = tree.get(path)!;
  const number = text.split('\ndef test_').length;
  const body = `def test_case_${number}():\n    assert ${wholeBetween(random, 2, 9)} > 1`;
  tree.set(path, `${text.trimEnd()}\n\n\n${body}\n`);
  return `Test ${path.slice(path.lastIndexOf('/') + 1).replace(/^test_|\.py$/g, '')}`;
}

const HARMLESS: readonly ((random: Random) => ConfigEdit)[] = [
  (random) => ({ key: 'dataset.num_workers', value: pick(random, [2, 4, 8, 16]) }),
  (random) => ({ key: 'optimizer.lr', value: pick(random, [2e-4, 2.5e-4, 2.8e-4, 3.2e-4]) }),
  (random) => ({ key: 'optimizer.weight_decay', value: pick(random, [0.05, 0.08, 0.12]) }),
  (random) => ({ key: 'optimizer.clip_grad', value: pick(random, [0.5, 0.8, 1.2]) }),
  (random) => ({ key: 'scheduler.lr_warmup_iters', value: pick(random, [40, 60, 80, 100]) }),
  (random) => ({ key: 'train.train_iters', value: pick(random, [1500, 2000, 5000]) }),
  (random) => ({ key: 'logger.tensorboard_log_interval', value: pick(random, [5, 10, 20]) }),
  (random) => ({ key: 'rng.seed', value: pick(random, [42, 77, 1337]) }),
];

export function editHarmlessKey(random: Random, tree: Tree): string {
  const edit = pick(random, HARMLESS)(random);
  applyEdit(tree, edit);
  return `Set ${edit.key} to ${String(edit.value)}`;
}

/** Some tens of MiB, or none: a mask of one byte for every pair of positions, buckets of rounder sizes. */
export function editSmallKey(random: Random, tree: Tree): string {
  const edit: ConfigEdit = pick(random, [
    { key: 'dataset.create_attention_mask', value: true },
    { key: 'ddp.pad_buckets_for_high_nccl_busbw', value: true },
  ]);
  applyEdit(tree, edit);
  return `Turn on ${edit.key}`;
}
