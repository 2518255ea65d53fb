/** After the results, one line: what was not tested here, and why. */
import type { Reporter, TestModule } from 'vitest/node';

/** Of a test that could not run here: what {@link skipLoudly} of `skip-loudly.ts` names. */
const NEEDS = /^needs (.*)/;

export class SkippedReporter implements Reporter {
  readonly seed: string;
  /** What this run leaves to other commands, as a clause; empty for nothing. */
  readonly left: string;

  constructor(seed: string, left: string) {
    this.seed = seed;
    this.left = left;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const reasons = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        if (module.moduleId.endsWith('.nightly.test.ts')) continue;
        const why = NEEDS.exec(test.name)?.[0] ?? 'skipped by the test itself';
        reasons.set(why, (reasons.get(why) ?? 0) + 1);
      }
    }
    const skipped = [...reasons].map(([why, count]) => `${count} ${why}`);
    const list = [...skipped, ...(this.left === '' ? [] : [this.left])];
    console.log(`Seed ${this.seed} (MBF_SEED). Not tested here: ${list.join('; ') || 'nothing'}.`);
  }
}
