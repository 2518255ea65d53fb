/** Kernels as a report names and describes them: `kernels.tsv`. Those named `planted.*` are of the tests' captures. */

import type { KernelPlan } from './capture.js';
import { dataFile } from './database.js';

export interface ReportKernel extends KernelPlan {
  /** Launched by the driver's interface rather than the runtime's. */
  readonly isDriver: boolean;
}

const KERNELS = new Map<string, ReportKernel>(
  dataFile('kernels.tsv')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [name, shortName, demangled, grid, block, registers, local, cluster, driver] = line.split('\t') as string[];
      const sizes = (text = ''): KernelPlan['grid'] => text.split(' ').map(Number) as unknown as KernelPlan['grid'];
      const demangledName = demangled === '=' ? shortName! : demangled!;
      const facts = { registers: Number(registers), localBytesPerThread: Number(local), isDriver: driver === 'yes' };
      const inCluster = !cluster ? {} : { cluster: Number(cluster) };
      const kernel = { shortName: shortName!, demangledName, grid: sizes(grid), block: sizes(block), ...facts };
      return [name!, { ...kernel, ...inCluster }];
    }),
);

export function kernel(name: string): ReportKernel {
  const found = KERNELS.get(name);
  if (found === undefined) throw new Error(`no kernel ${name}`);
  return found;
}
