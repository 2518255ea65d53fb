/**
 * A recording that obeys the allocator's rules, as only an allocator makes one: the model itself trains on an imaginary
 * device. The generator of the other cases invents addresses, which a replay rightly refuses.
 */
import type { CodeLine } from '../samples/generate/simulate/code-line.js';
import type { RankProcess, Traceback } from '../samples/generate/simulate/rank-process.js';
import { createDriver, settingsFromConf } from '../samples/generate/simulate/simulated-driver.js';
import { pickle } from '../samples/generate/write/pickle-writer.js';
import { snapshotValue } from '../samples/generate/write/snapshot-pickle.js';
import type { Block } from '../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../src/allocator/caching/caching-allocator.js';
import { KIB, MIB } from '../src/model/units.js';

/** Parameters, gradients and optimizer state, made before the first step. */
const PERSISTENT_BLOCKS = 1200;
/** Activations kept from forward to backward, each with one temporary. */
const ACTIVATIONS = 2400;
const CALL_SITES = 300;
const FRAMES = 24;
/** Some 60 GB are needed; the device has a little more, so that flushes happen. */
const DEVICE_BYTES = 80 * 1024 * MIB;

/**
 * The pickle torch 2.8 would write of a run with about `entries` trace entries, from a cold start to a dump at its end.
 * The seed determines sizes; all have the same stacks, as ranks do.
 */
export function recordTraining(entries: number, seed = 20_261_121): Buffer {
  const trace: TraceEntry<Traceback>[] = [];
  const random = randomOf(seed);
  const allocator = new CachingAllocator<Traceback>({
    driver: createDriver({ totalBytes: DEVICE_BYTES, nonTorchBytes: 2 * 1024 * MIB }),
    settings: settingsFromConf(''),
    trace: (entry) => trace.push(entry),
  });
  const sites = callSites();
  const malloc = (bytes: number, site: number): Block<Traceback> | null => {
    const result = allocator.malloc(Math.max(1, Math.floor(bytes)), 0, sites[site % CALL_SITES]!, 10 * trace.length);
    return result.ok ? result.block : null;
  };
  const free = (block: Block<Traceback> | null): void => {
    if (block !== null) allocator.free(block, null, 10 * trace.length);
  };
  const shapes = Array.from({ length: 60 }, () => 2 ** (9 + 15.5 * random()));
  for (let i = 0; i < PERSISTENT_BLOCKS; i += 1) malloc(i % 3 === 0 ? 4 * KIB : 16 * MIB * random(), i);
  for (let step = 0; trace.length < entries; step += 1) {
    // Sequences differ in length from step to step, which is what fragments.
    const length = 0.5 + random();
    const kept: (Block<Traceback> | null)[] = [];
    for (let i = 0; i < ACTIVATIONS && trace.length < entries; i += 1) {
      const temporary = malloc(shapes[(7 * i) % shapes.length]! * 1.5 * length, i + 1);
      kept.push(malloc(shapes[i % shapes.length]! * length, i));
      free(temporary);
    }
    while (kept.length > 0) {
      const gradient = malloc(shapes[(11 * kept.length) % shapes.length]! * length, kept.length + 2);
      free(kept.pop()!);
      free(gradient);
    }
    if (step % 16 === 15) allocator.flush(null, 10 * trace.length);
  }
  const rank = { device: 0, trace, annotations: [], allocator } as unknown as RankProcess;
  return pickle(
    snapshotValue(rank, { torch: '2.8', deviceCount: 1, allocConf: '', maxEntries: Number.POSITIVE_INFINITY }),
  );
}

function callSites(): Traceback[] {
  const lines: CodeLine[] = Array.from({ length: 900 }, (_, i) => ({
    name: `forward_${i % 70}`,
    filename: `/job/model/layer_${i % 40}.py`,
    line: 10 + i,
    source: '',
  }));
  return Array.from(
    { length: CALL_SITES },
    (_, site) =>
      ({
        frames: Array.from({ length: FRAMES }, (__, depth) => lines[(site + 13 * depth) % lines.length]!),
      }) as Traceback,
  );
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
