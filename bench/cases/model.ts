import { createDriver, settingsFromConf } from '../../samples/generate/simulate/simulated-driver.js';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator } from '../../src/allocator/caching/caching-allocator.js';
import type { BenchContext, Case } from '../case.js';
import { alternate } from '../measure.js';
import type { Group } from '../report.js';

const ENTRIES = 2_000_000;
const CONFS = { default: '', expandable: 'expandable_segments:True' } as const;
/** How many blocks a training step keeps alive: a small model, a large one, one with many experts. */
const LIVE_BLOCKS = [500, 3000, 20_000];

/** The allocator model alone: trace entries per second, with and without expandable segments. */
export const modelCase: Case = {
  name: 'model',
  async *run(context) {
    for (const live of LIVE_BLOCKS) yield await measure(context, live);
  },
};

async function measure(context: BenchContext, live: number): Promise<Group> {
  const rowName = (conf: keyof typeof CONFS): string => `${conf} settings`;
  const names = Object.keys(CONFS) as (keyof typeof CONFS)[];
  // Both kinds of code are compiled before either is timed.
  for (const name of names) simulate(CONFS[name], live, ENTRIES / 4);
  const entries = new Map<string, number>();
  const samples = await alternate(
    names.map((name) => () => {
      const began = performance.now();
      entries.set(name, simulate(CONFS[name], live, ENTRIES));
      return Promise.resolve({ [rowName(name)]: { seconds: (performance.now() - began) / 1000, peakRssBytes: null } });
    }),
    context.repeat,
    context.progress,
  );
  return {
    case: 'model',
    title: `allocator model, about ${live} live blocks of 200 sizes from 512 B to 64 MiB`,
    baselines: [rowName('default')],
    samples,
    work: Object.fromEntries(names.map((name) => [rowName(name), { events: entries.get(name)! }])),
    bars: {},
    notes: ['every trace entry is made and dropped, as a replay that compares them does'],
  };
}

/** Allocates and frees at random around `live` blocks until `wanted` trace entries exist; returns how many do. */
function simulate(conf: string, live: number, wanted: number): number {
  let made = 0;
  const allocator = new CachingAllocator({
    driver: createDriver({ totalBytes: 2 ** 46 }),
    settings: settingsFromConf(conf),
    trace: () => {
      made += 1;
    },
  });
  let state = 12_345;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const sizes = Array.from({ length: 200 }, () => Math.floor(2 ** (9 + random() * 17)));
  const blocks: Block<unknown>[] = [];
  while (made < wanted) {
    if (blocks.length < live * (0.5 + random())) {
      const result = allocator.malloc(sizes[Math.floor(random() * sizes.length)]!, 0);
      if (result.ok) blocks.push(result.block);
    } else {
      const index = Math.floor(random() * blocks.length);
      allocator.free(blocks[index]!);
      blocks[index] = blocks.at(-1)!;
      blocks.pop();
    }
  }
  return made;
}
