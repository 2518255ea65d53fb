/** Commits whose run says nothing of their code's memory or speed: they hang, do not start, or ran on a node in poor health. Each with the one that mends it. */
import { pick, type Random } from '../../simulate/random.js';
import { CLUSTER_FILE, NODES, SLOW_NODE } from '../train/cluster.js';
import { applyEdit, type TextEdit, type Tree } from './tree.js';

export interface Trouble {
  readonly subject: string;
  readonly fixSubject: string;
  readonly make: (tree: Tree) => void;
  readonly mend: (tree: Tree) => void;
  /** Functions whose text both look for. */
  readonly functions: readonly string[];
}

function fromEdit(subject: string, fixSubject: string, edit: TextEdit, functions: readonly string[]): Trouble {
  return {
    subject,
    fixSubject,
    functions,
    make: (tree) => {
      applyEdit(tree, edit);
    },
    mend: (tree) => {
      applyEdit(tree, { find: edit.replace, replace: edit.find });
    },
  };
}

/** Nobody waits for the barrier: the run hangs every time. */
const HUNG: readonly Trouble[] = [
  fromEdit(
    'Do not block on the barrier between steps',
    'Revert "Do not block on the barrier between steps"',
    {
      find: '    loss = reduce_losses(losses_reduced)\n',
      replace: '    torch.distributed.barrier(async_op=True)\n    loss = reduce_losses(losses_reduced)\n',
    },
    ['train_step', 'reduce_losses'],
  ),
];

/** Nobody waits for the sum: the run hangs more often than not. */
const RACING: readonly Trouble[] = [
  fromEdit(
    'Reduce the loss in the background',
    'Revert "Reduce the loss in the background"',
    {
      find: 'torch.distributed.all_reduce(loss, group=get_data_parallel_group())',
      replace: 'torch.distributed.all_reduce(loss, group=get_data_parallel_group(), async_op=True)',
    },
    ['reduce_losses'],
  ),
  ...HUNG,
];

const BROKEN: readonly Trouble[] = [
  fromEdit(
    'Prepare TrainState for resuming',
    'Fix import of TrainState',
    {
      find: 'from megatron.bridge.training.train import train\n',
      replace: 'from megatron.bridge.training.train import TrainState, train\n',
    },
    [],
  ),
  fromEdit(
    'Allow several override files',
    'Fix syntax of load_overrides',
    { find: 'def load_overrides(cfg, path):\n', replace: 'def load_overrides(cfg, path, *paths:\n' },
    ['load_overrides'],
  ),
  fromEdit(
    'Merge branch recipes-cleanup',
    'Resolve leftover conflict in precision.py',
    {
      find: '    cfg.mixed_precision = "bf16_mixed"\n',
      replace: '<<<<<<< HEAD\n    cfg.mixed_precision = "bf16_mixed"\n=======\n',
    },
    ['bf16_mixed'],
  ),
  fromEdit(
    'Read tensor_parallel_size from the model section',
    'Fix name of tensor_model_parallel_size',
    {
      find: '    tensor_parallel = cfg.model.tensor_model_parallel_size\n',
      replace: '    tensor_parallel = cfg.model.tensor_parallel_size\n',
    },
    ['initialize_megatron'],
  ),
];

function straggler(random: Random): Trouble {
  const after = pick(random, NODES);
  const onNode = (node: string) => (tree: Tree) => {
    tree.set(CLUSTER_FILE, tree.get(CLUSTER_FILE)!.replace(/^NODELIST=.*$/m, `NODELIST=${node}`));
  };
  return {
    subject: `Move the nightly run to ${SLOW_NODE}`,
    fixSubject: `Move the nightly run to ${after}`,
    make: onNode(SLOW_NODE),
    mend: onNode(after),
    functions: [],
  };
}

export type TroubleKind = 'flaky' | 'broken' | 'straggler';

/** `certain`: in every launch. */
export function drawTrouble(random: Random, kind: TroubleKind, certain: boolean): Trouble {
  if (kind === 'straggler') return straggler(random);
  return pick(random, kind === 'broken' ? BROKEN : certain ? HUNG : RACING);
}

/** Functions whose text some trouble looks for. */
export const TROUBLED_FUNCTIONS: ReadonlySet<string> = new Set(
  [...RACING, ...BROKEN].flatMap(({ functions }) => functions),
);
