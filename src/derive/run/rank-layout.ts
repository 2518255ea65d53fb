/**
 * Where a global rank sits. Megatron-Core lays ranks out in mixed radix: `order` names the axes from the fastest to the
 * slowest, by default `tp-cp-ep-dp-pp`. Dense layers have the axes tp, cp, dp, pp; expert layers have their own tp, ep,
 * dp, pp over the same ranks, without cp, and both agree on pp. Upstream: Megatron-LM
 * `megatron/core/parallel_state.py`, `RankGenerator` and `initialize_model_parallel`.
 */
import type { ParallelSizes, RankPosition } from '../../model/results/log.js';

export const DEFAULT_RANK_ORDER = 'tp-cp-ep-dp-pp';

/** Positions of ranks `0 … worldSize − 1`. */
export interface RankLayout {
  readonly worldSize: number;
  readonly order: string;
  position(rank: number): RankPosition | null;
  /** The coordinate of a rank of the world is rank / stride, rounded down, modulo size. */
  axis(name: 'pp' | 'dp'): { readonly size: number; readonly stride: number };
}

interface Axis {
  readonly name: string;
  readonly size: number;
  readonly stride: number;
}

/** Strides of the axes in order; axes of size 1 that the order does not name change nothing. */
function axesOf(order: readonly string[], sizes: Readonly<Record<string, number>>): Axis[] {
  let stride = 1;
  return order.map((name) => {
    const size = sizes[name] ?? 1;
    const axis = { name, size, stride };
    stride *= size;
    return axis;
  });
}

function coordinate(axes: readonly Axis[], name: string, rank: number): number {
  const axis = axes.find((candidate) => candidate.name === name);
  return axis === undefined ? 0 : Math.floor(rank / axis.stride) % axis.size;
}

/**
 * Null where the sizes are unknown or do not divide the world: then no position is known. Unknown cp and ep count as 1
 * (older versions have neither), an unknown expert tp as tp, Megatron's default.
 */
export function rankLayout(
  worldSize: number | null,
  sizes: Pick<ParallelSizes, 'tp' | 'pp' | 'cp' | 'ep' | 'etp'>,
  order: string = DEFAULT_RANK_ORDER,
): RankLayout | null {
  const { tp, pp } = sizes;
  const cp = sizes.cp ?? 1;
  const ep = sizes.ep ?? 1;
  if (worldSize === null || tp === null || pp === null) return null;
  const etp = sizes.etp ?? tp;
  const all = [worldSize, tp, pp, cp, ep, etp];
  if (all.some((size) => !Number.isSafeInteger(size) || size < 1)) return null;
  if (worldSize % (tp * pp * cp) !== 0) return null;
  const names = order.toLowerCase().split('-');
  const required = { tp, cp, pp, dp: worldSize / (tp * pp * cp) };
  for (const [name, size] of Object.entries(required)) if (size > 1 && !names.includes(name)) return null;
  const dense = axesOf(names, { ...required, ep: 1 });
  // An order that leaves out an axis longer than 1 is an error upstream.
  const hasExperts = ep > 1 && names.includes('ep') && worldSize % (etp * ep * pp) === 0;
  const expert = hasExperts ? axesOf(names, { tp: etp, cp: 1, ep, pp, dp: worldSize / (etp * ep * pp) }) : undefined;
  return {
    worldSize,
    order,
    axis: (name) => dense.find((axis) => axis.name === name) ?? { size: 1, stride: 1 },
    position(rank) {
      if (!Number.isSafeInteger(rank) || rank < 0 || rank >= worldSize) return null;
      return {
        rank,
        tp: coordinate(dense, 'tp', rank),
        cp: coordinate(dense, 'cp', rank),
        dp: coordinate(dense, 'dp', rank),
        pp: coordinate(dense, 'pp', rank),
        ep: expert === undefined ? null : coordinate(expert, 'ep', rank),
      };
    },
  };
}
