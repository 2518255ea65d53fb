/**
 * Memory from before the recording, of which the trace shows at most the end: identified by who frees it, and by sizes
 * that only parameters have.
 */
import { type Attribution, infer, labelAt } from '../blocks/attribution.js';
import { type Lives, NEVER, sizeOf } from '../blocks/lives.js';
import { isAbout } from './buffers.js';

export const FREED_BY_OPTIMIZER = 'inference.freed-by-optimizer';
export const FREED_BY_ZERO_GRAD = 'inference.freed-by-zero-grad';
export const SIZES_OF_PARAMETERS = 'inference.sizes-of-parameters';
export const PRINTED_PARAMETERS = 'inference.printed-parameters';

/** A set of blocks is a copy of the parameters if it has so much of their bytes, size by size. */
const LEAST_COVERAGE = 0.8;
/** Bytes of an element against those of the set compared with: the same type, fp32 against bf16, and the reverse. */
const RATIOS = [1, 2, 0.5] as const;
/** States that the trace shows, against the parameters: with fewer, what it shows are step counters and the like. */
const LEAST_STATES = 0.5;
/** Parameters themselves, master weights and the two moments. */
const MOST_COPIES = 4;

export function inferBeforeRecording(of: Attribution): void {
  if (of.lives.starts === 0) return;
  namePrinted(of);
  nameByFree(of);
  nameBySize(of);
}

function isOpen(of: Attribution, row: number): boolean {
  const { by } = labelAt(of, row);
  return by === 'none';
}

/** Single blocks of two or four bytes for each parameter of this rank: Megatron's contiguous buffers. */
function namePrinted(of: Attribution): void {
  const count = of.run.rankParameters;
  if (count === null || count < 1e6) return;
  for (let row = 0; row < of.lives.starts; row += 1) {
    if (!isOpen(of, row)) continue;
    const bytes = of.lives.bytes[row]!;
    const found = isAbout(bytes, 2 * count) ? 'parameter' : isAbout(bytes, 4 * count) ? 'gradient' : undefined;
    if (found === undefined) continue;
    infer(of, row, PRINTED_PARAMETERS, {
      component: found,
      sub_component: found === 'parameter' ? 'param_buffer' : 'main_grad_buffer',
      confidence: 'medium',
    });
  }
}

/**
 * An optimizer that writes `state = f(state)` frees the old state in its step; `zero_grad` frees gradients. Only what
 * is freed is known so, and only where frees carry stacks of their own.
 */
function nameByFree(of: Attribution): void {
  const { lives, classes } = of;
  for (let row = 0; row < lives.starts; row += 1) {
    if (lives.stackIsOfFree[row] === 0 || !isOpen(of, row)) continue;
    const stack = classes(lives.stackId[row]!);
    const zeroes = stack.frames.some(({ name }) => name === 'zero_grad' || name.endsWith('.zero_grad'));
    if (zeroes)
      infer(of, row, FREED_BY_ZERO_GRAD, {
        component: 'gradient',
        sub_component: 'parameter_gradient',
        confidence: 'medium',
      });
    else if (stack.phase === 'optimizer_step')
      infer(of, row, FREED_BY_OPTIMIZER, {
        component: 'optimizer_state',
        sub_component: 'state',
        confidence: 'medium',
      });
  }
}

/**
 * Gradients have the sizes of the parameters, and so have the states of most optimizers. Blocks from before the
 * recording with those very sizes, in that very number, are the parameters; a second and a third set are the states,
 * unless the trace shows where those come from.
 */
function nameBySize(of: Attribution): void {
  const { lives } = of;
  const sizes = parameterSizes(of);
  if (sizes === undefined) return;
  const open: number[] = [];
  for (let row = 0; row < lives.starts; row += 1) if (isOpen(of, row)) open.push(row);
  // What lives on is older than what goes: parameters are never freed.
  open.sort((a, b) => Number(lives.freedSeq[a] !== NEVER) - Number(lives.freedSeq[b] !== NEVER));
  let left = open;
  const statesSeen =
    bytesOfStates(of) >= LEAST_STATES * [...sizes].reduce((sum, [size, count]) => sum + size * count, 0);
  const parametersSeen = of.table.labels.some(({ component, by }) => component === 'parameter' && by === 'rule');
  const names = [
    ...(parametersSeen ? [] : [{ component: 'parameter', sub_component: 'by_size' } as const]),
    ...(statesSeen
      ? []
      : Array(MOST_COPIES - 1).fill({ component: 'optimizer_state', sub_component: 'by_size' } as const)),
  ];
  for (const name of names) {
    const copy = largestCopy(lives, left, sizes);
    if (copy === undefined) return;
    for (const row of copy) infer(of, row, SIZES_OF_PARAMETERS, { ...name, confidence: 'medium' });
    const taken = new Set(copy);
    left = left.filter((row) => !taken.has(row));
  }
}

function bytesOfStates(of: Attribution): number {
  let bytes = 0;
  for (let row = 0; row < of.lives.count; row += 1)
    if (labelAt(of, row).component === 'optimizer_state') bytes += of.lives.bytes[row]!;
  return bytes;
}

type Sizes = ReadonlyMap<number, number>;

/**
 * How many parameters there are of each size in actual bytes; undefined where the trace shows neither gradients nor
 * states.
 */
function parameterSizes(of: Attribution): Sizes | undefined {
  const { lives, phases } = of;
  const gradients: number[] = [];
  // Those of one step: what is there when the first optimizer step behind them begins.
  let step: number | undefined;
  const states = new Map<string, number[]>();
  for (let row = 0; row < lives.count; row += 1) {
    const { component, sub_component, rules } = labelAt(of, row);
    if (component === 'gradient' && sub_component === 'parameter_gradient' && row >= lives.starts) {
      const next = phases.nextStart('optimizer_step', row);
      step ??= next;
      if (next === step) gradients.push(row);
    } else if (component === 'optimizer_state') {
      const key = `${lives.stackId[row]} ${rules.join(' ')}`;
      const rows = states.get(key);
      if (rows === undefined) states.set(key, [row]);
      else rows.push(row);
    }
  }
  const sum = (rows: readonly number[]): number => rows.reduce((total, row) => total + lives.bytes[row]!, 0);
  const largest = [...states.values()].sort((a, b) => sum(b) - sum(a))[0];
  const rows = gradients.length > 0 ? gradients : largest;
  if (rows === undefined) return undefined;
  const sizes = new Map<number, number>();
  for (const row of rows) sizes.set(sizeOf(lives, row), (sizes.get(sizeOf(lives, row)) ?? 0) + 1);
  return sizes;
}

/** The rows of `from` that make the fullest set of `sizes` at one of the ratios; undefined if none covers enough. */
function largestCopy(lives: Lives, from: readonly number[], sizes: Sizes): readonly number[] | undefined {
  let best: readonly number[] | undefined;
  let most = LEAST_COVERAGE;
  for (const ratio of RATIOS) {
    const wanted = new Map<number, number>();
    let whole = 0;
    for (const [size, count] of sizes) {
      const scaled = Math.max(512, Math.ceil((size * ratio) / 512) * 512);
      wanted.set(scaled, (wanted.get(scaled) ?? 0) + count);
      whole += scaled * count;
    }
    const rows: number[] = [];
    let found = 0;
    for (const row of from) {
      const size = sizeOf(lives, row);
      const left = wanted.get(size) ?? 0;
      if (left === 0) continue;
      wanted.set(size, left - 1);
      rows.push(row);
      found += size;
    }
    if (found / whole > most) {
      most = found / whole;
      best = rows;
    }
  }
  return best;
}
