/**
 * With each change, one test of every `*.nightly.test.ts` file runs, another one for each seed, until the workers
 * have spent {@link MOST_SECONDS} on them.
 */
import { createHash } from 'node:crypto';
import type { File, Suite, Task, Test } from '@vitest/runner';
import { VitestTestRunner } from 'vitest/runners';
import { SEED } from '../level.js';

/** Of one worker. */
const MOST_SECONDS = 15;

const isNightly = (path: string): boolean => path.endsWith('.nightly.test.ts');

const testsOf = (task: Task): Test[] => (task.type === 'suite' ? task.tasks.flatMap(testsOf) : [task]);

/** Leaves the modes of suites so that no `beforeAll` of unchosen tests runs. */
function skipAllBut(chosen: Test, task: Task): boolean {
  const runs = task.type === 'suite' ? task.tasks.filter((one) => skipAllBut(chosen, one)).length > 0 : task === chosen;
  if (!runs) task.mode = 'skip';
  return runs;
}

let spentMs = 0;

export default class NightlySample extends VitestTestRunner {
  private begun = 0;

  onCollected(files: File[]): void {
    for (const file of files.filter(({ filepath }) => isNightly(filepath))) {
      const tests = testsOf(file).filter(({ mode }) => mode === 'run' || mode === 'queued');
      const hash = createHash('sha256').update(`${SEED} ${file.name}`).digest().readUInt32BE();
      const chosen = tests[hash % tests.length];
      if (chosen !== undefined) skipAllBut(chosen, file);
    }
  }

  override async onBeforeRunSuite(suite: Suite): Promise<void> {
    if (suite === suite.file && isNightly(suite.file.filepath)) {
      this.begun = performance.now();
      if (spentMs > MOST_SECONDS * 1000) suite.mode = 'skip';
    }
    await super.onBeforeRunSuite(suite);
  }

  override async onAfterRunSuite(suite: Suite): Promise<void> {
    if (suite === suite.file && isNightly(suite.file.filepath)) spentMs += performance.now() - this.begun;
    await super.onAfterRunSuite(suite);
  }
}
