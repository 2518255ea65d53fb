/** The blocks of a run as plain processes with the environment of a launcher; one is killed and started again. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { filesOf, smallRun, start } from './lakes.js';
import { until } from './slurm.js';

const cli = buildCli();
const root = temporaryDirectory();
const run = smallRun(join(root, 'night-shift'), 32);
const BLOCKS = 3;
const undisturbed = join(root, 'undisturbed');
const add = (lake: string, ...more: string[]): string[] => [
  'lake',
  'add',
  run,
  '--to',
  lake,
  '--id',
  'a',
  '--events',
  ...more,
];
for (let block = 0; block < BLOCKS; block += 1) cli.expect(0, add(undisturbed, '--block', `${block}/${BLOCKS}`));

it.each<[string, (task: number) => Record<string, string>]>([
  [
    'a Slurm job array',
    (task) => ({ SLURM_ARRAY_TASK_ID: `${task + 5}`, SLURM_ARRAY_TASK_MIN: '5', SLURM_ARRAY_TASK_COUNT: `${BLOCKS}` }),
  ],
  ['a Slurm step', (task) => ({ SLURM_PROCID: `${task}`, SLURM_NTASKS: `${BLOCKS}` })],
  ['an indexed Job of Kubernetes', (task) => ({ JOB_COMPLETION_INDEX: `${task}`, JOB_COMPLETIONS: `${BLOCKS}` })],
])(
  'tasks of %s, one of them killed and repeated, leave the files of an undisturbed run',
  async (launcher, envOf) => {
    const lake = join(root, launcher.replaceAll(' ', '-'));
    const tasks = Array.from({ length: BLOCKS }, (_, task) => start(add(lake), envOf(task)));
    const killed = tasks[1]!;
    let isOver = false;
    void killed.ended.then(() => {
      isOver = true;
    });
    // Its work directory has its number.
    const works = (): boolean => isOver || filesOf(lake).some((name) => name.includes(`-${killed.child.pid}-`));
    await until('work of the task', () => {
      try {
        return works();
      } catch {
        // Folders come and go while they are listed.
        return false;
      }
    });
    killed.child.kill('SIGKILL');
    for (const { ended } of tasks) await ended;
    expect(await start(add(lake), envOf(1)).ended).toMatchObject({ status: 0, stderr: '' });
    expect(filesOf(lake)).toEqual(filesOf(undisturbed));
  },
  120_000,
);
