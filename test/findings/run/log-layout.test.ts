/** Rank positions against the examples that Megatron-Core documents, and against groups built independently. */
import { describe, expect, it } from 'vitest';
import { rankLayout } from '../../../src/derive/run/rank-layout.js';

type Sizes = Parameters<typeof rankLayout>[1];
const sizes = (tp: number, pp: number, more: Partial<Sizes> = {}): Sizes => ({
  ...{ tp, pp, cp: null, ep: null, etp: null, ...more },
});

type Axis = 'tp' | 'cp' | 'dp' | 'pp';

/** Ranks that differ in `axis` alone, each group ascending, groups by their first rank. */
function groups(world: number, layout: ReturnType<typeof rankLayout>, axis: Axis): string {
  const others = (['tp', 'cp', 'dp', 'pp'] as const).filter((other) => other !== axis);
  const byKey = new Map<string, number[]>();
  for (let rank = 0; rank < world; rank += 1) {
    const position = layout!.position(rank)!;
    expect(position.rank).toBe(rank);
    const key = others.map((other) => position[other]).join(' ');
    byKey.set(key, [...(byKey.get(key) ?? []), rank]);
  }
  return [...byKey.values()].map((ranks) => ranks.join('-')).join(' ');
}

describe('rankLayout', () => {
  // The first three are the example of initialize_model_parallel: 16 GPUs, TP 2, PP 4. Context parallelism is inside
  // data parallelism.
  it.each<[string, Axis, Sizes, string?]>([
    ['0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15', 'tp', sizes(2, 4)],
    ['0-2 1-3 4-6 5-7 8-10 9-11 12-14 13-15', 'dp', sizes(2, 4)],
    ['0-4-8-12 1-5-9-13 2-6-10-14 3-7-11-15', 'pp', sizes(2, 4)],
    ['0-2 1-3 4-6 5-7 8-10 9-11 12-14 13-15', 'cp', sizes(2, 2, { cp: 2 })],
    ['0-4 1-5 2-6 3-7 8-12 9-13 10-14 11-15', 'dp', sizes(2, 2, { cp: 2 })],
    ['0-2-4-6 1-3-5-7 8-10-12-14 9-11-13-15', 'pp', sizes(2, 4), 'tp-cp-ep-pp-dp'],
  ])('has the groups %s of %s for %j in the order %s', (expected, axis, of, order) => {
    expect(groups(16, rankLayout(16, of, order), axis)).toBe(expected);
  });

  it('has positions of ranks in the world only', () => {
    const layout = rankLayout(16, sizes(2, 4));
    expect(layout!.position(13)).toEqual({ rank: 13, tp: 1, cp: 0, dp: 0, pp: 3, ep: null });
    expect(layout!.position(16)).toBeNull();
    expect(layout!.position(-1)).toBeNull();
  });

  it('lays experts over the same ranks, context and data parallel ranks included', () => {
    // TP 2 × CP 2 × DP 2 of dense layers are ETP 1 × EP 4 × EDP 2 of expert layers.
    const layout = rankLayout(8, sizes(2, 1, { cp: 2, ep: 4, etp: 1 }));
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((rank) => layout!.position(rank)!.ep)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
    // Without a size of their own experts are cut as the dense layers are.
    const matching = rankLayout(8, sizes(2, 1, { ep: 4 }));
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((rank) => matching!.position(rank)!.ep)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    const staged = rankLayout(16, sizes(1, 2, { ep: 8 }));
    expect(staged!.position(11)).toEqual({ rank: 11, tp: 0, cp: 0, dp: 3, pp: 1, ep: 3 });
  });

  it('is unknown where sizes are unknown, contradict the world, or the order leaves an axis out', () => {
    expect(rankLayout(null, sizes(1, 1))).toBeNull();
    expect(rankLayout(8, { ...sizes(1, 1), tp: null })).toBeNull();
    expect(rankLayout(8, { ...sizes(1, 1), pp: null })).toBeNull();
    expect(rankLayout(10, sizes(4, 1))).toBeNull();
    expect(rankLayout(8, sizes(0, 1))).toBeNull();
    expect(rankLayout(8, sizes(1.5, 1))).toBeNull();
    expect(rankLayout(8, sizes(2, 2), 'tp-cp-ep-dp')).toBeNull();
    // An expert layout that does not fit leaves the dense one.
    expect(rankLayout(8, sizes(2, 1, { ep: 3 }))!.position(3)).toMatchObject({ tp: 1, ep: null });
  });
});
