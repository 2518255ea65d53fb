/**
 * One simulated training process that is dumped again and again, as the files torch would write. Requests go through
 * our model of the allocator; what a step keeps is up to the test.
 */
import type { CodeLine } from '../../samples/generate/simulate/code-line.js';
import { createRankProcess, type RankProcess, type Tensor } from '../../samples/generate/simulate/rank-process.js';
import { snapshotPickle } from '../../samples/generate/write/snapshot-pickle.js';
import { GIB } from '../../src/model/units.js';

export function codeLine(name: string, filename: string, line: number): CodeLine {
  return { name, filename, line, source: `${name}()` };
}

export interface DumpedProcess {
  readonly process: RankProcess;
  /** A step: what `keep` allocates stays, and 20 activations of 32 MiB come and go. */
  step(keep?: (process: RankProcess) => Tensor[]): void;
  /** The file of this moment. `skewUs` is added to all its times: torch converts its clock anew at every dump. */
  dump(maxEntries: number, skewUs?: number): Buffer;
}

export function dumpedProcess(
  rank: number,
  options: { readonly seed?: number; readonly startUs?: number } = {},
): DumpedProcess {
  const process = createRankProcess({
    rank,
    device: 0,
    totalBytes: 80 * GIB,
    contextBytes: GIB / 2,
    startUs: options.startUs ?? 1_700_000_000_000_000,
    seed: options.seed ?? 7,
  });
  const forward = [codeLine('forward', '/app/layer.py', 12), codeLine('train', '/app/train.py', 90)];
  return {
    process,
    step(keep = () => []) {
      const tensors = Array.from({ length: 20 }, () => process.malloc(32 * 1024 * 1024, forward));
      process.pass(50_000);
      keep(process);
      for (const tensor of tensors.reverse()) process.free(tensor);
      process.pass(50_000);
    },
    dump(maxEntries, skewUs = 0) {
      const shifted = process.trace.map((entry) => ({ ...entry, timeUs: (entry.timeUs ?? 0) + skewUs }));
      return snapshotPickle(
        { ...process, trace: shifted },
        { torch: '2.8', deviceCount: 1, allocConf: '', maxEntries },
      );
    },
  };
}
