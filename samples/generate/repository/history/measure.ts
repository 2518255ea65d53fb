/** What a tree's program needs, measured on a device without noise: by this a regression is known to be one. */
import type { Component } from '../../../../src/model/vocabulary.js';
import type { LaunchOptions } from '../train/launch-options.js';
import { runProgram } from '../train/run-program.js';
import type { Tree } from './tree.js';

/** More than any program needs. */
const UNLIMITED_BYTES = 2 ** 43;
/** The second step is the first with the optimizer's state. */
const STEPS = 2;

export interface Needs {
  readonly peakBytes: number;
  /** What the process takes from the device. */
  readonly reservedBytes: number;
  readonly stepUs: number;
  /** Of what outlives a step. */
  readonly residentBytes: ReadonlyMap<Component, number>;
}

/** Throws where the program fails. */
export function measure(tree: Tree, launch: LaunchOptions): Needs {
  const run = runProgram(tree, launch, { totalBytes: UNLIMITED_BYTES, mostSteps: STEPS, records: false });
  if (run.ending.kind !== 'completed') {
    throw new Error(`the program ${'exception' in run.ending ? run.ending.exception : run.ending.kind}`);
  }
  const { statistics } = run.process.allocator;
  const residentBytes = new Map<Component, number>();
  for (const segment of run.process.allocator.snapshot()) {
    for (const { state, stack, sizeBytes } of segment.blocks) {
      if (state === 'inactive' || stack === null) continue;
      const component = componentOf(stack.frames.map(({ source }) => source));
      residentBytes.set(component, (residentBytes.get(component) ?? 0) + sizeBytes);
    }
  }
  return {
    peakBytes: statistics.allocatedBytes.peak,
    reservedBytes: run.process.driver.memory().processBytes,
    stepUs: run.nominalStepUs!,
    residentBytes,
  };
}

/** By the text of the allocating lines, which no refactoring changes. */
function componentOf(sources: readonly string[]): Component {
  const has = (text: string): boolean => sources.some((source) => source.includes(text));
  if (has('self.grad_data = ')) return 'gradient';
  if (has('self.param_data = ')) return 'parameter';
  return has('.clone().float()') || has('self.initialize_state(') ? 'optimizer_state' : 'unattributed';
}

/** How a program ends on the device it is launched on. */
export function endingOf(tree: Tree, launch: LaunchOptions): string {
  return runProgram(tree, launch, { records: false }).ending.kind;
}
