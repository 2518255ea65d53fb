/** A job array that adds a run to a lake, a node of which is killed, and an epilog that adds failed jobs. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { skipLoudly } from '../support/levels/skip-loudly.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { ask, filesOf, smallRun } from './lakes.js';
import { installSlurm, type Slurm, startSlurm, until } from './slurm.js';

const missing = installSlurm();
const BLOCKS = 8;
const RANKS = 256;

describe('Slurm', () => {
  if (missing !== undefined) {
    skipLoudly('a lake written by a Slurm array', missing);
    return;
  }
  const cli = buildCli();
  const root = temporaryDirectory();
  const run = smallRun(join(root, 'night-shift'), RANKS);
  const program = `${process.execPath} ${cli.script}`;
  const seen = join(root, 'seen');
  const scriptOf = (name: string, text: string): string => {
    const file = join(root, name);
    writeFileSync(file, `#!/bin/bash\n${text}`);
    chmodSync(file, 0o755);
    return file;
  };
  let slurm: Slurm;

  beforeAll(async () => {
    mkdirSync(seen);
    mkdirSync(join(root, 'slurm'));
    // As in docs/lake.md.
    const epilog = scriptOf(
      'epilog.sh',
      `RUN_DIR=${root}/jobs/$SLURM_JOB_ID
[ -e "$RUN_DIR/failed" ] || exit 0
${program} lake add "$RUN_DIR" --to ${root}/collected --id "$SLURM_JOB_ID" --quiet > ${root}/epilog-$SLURM_JOB_ID.log 2>&1
`,
    );
    slurm = await startSlurm(join(root, 'slurm'), [`Epilog=${epilog}`]);
  }, 180_000);
  afterAll(() => slurm?.stop());

  it('a node killed in the middle of an array leaves the files of an undisturbed one', async () => {
    const lake = join(root, 'lake');
    const script = scriptOf(
      'array.sh',
      `echo $$ > ${seen}/$SLURM_ARRAY_TASK_ID.$SLURMD_NODENAME.tmp
mv ${seen}/$SLURM_ARRAY_TASK_ID.$SLURMD_NODENAME.tmp ${seen}/$SLURM_ARRAY_TASK_ID.$SLURMD_NODENAME.$SLURM_RESTART_COUNT
exec ${program} lake add ${run} --to ${lake} --id array --events --quiet
`,
    );
    const job = slurm
      .ask('sbatch', '--parsable', '--requeue', `--array=0-${BLOCKS - 1}`, '-o', '/dev/null', script)
      .trim();
    const begun = (): string | undefined => readdirSync(seen).find((name) => /^\d+\.n1\.$/.test(name));
    await until('a task on n1', () => begun() !== undefined);
    const [task] = begun()!.split('.') as [string];
    slurm.kill('n1', Number(readFileSync(join(seen, begun()!), 'utf8')));
    await until('requeued', () => {
      if (!slurm.ask('squeue', '-h', '-r', '-j', job, '-t', 'PD', '-o', '%K').split('\n').includes(task)) return false;
      return slurm.ask('scontrol', 'show', 'job', `${job}_${task}`).includes('Restarts=1');
    });
    slurm.ask('scontrol', 'update', `JobId=${job}_${task}`, 'StartTime=now');
    await until('the end of the array', () => slurm.ask('squeue', '-h').trim() === '', 300);
    expect(readdirSync(seen).some((name) => new RegExp(`^${task}\\.n[2-4]\\.1$`).test(name))).toBe(true);

    const undisturbed = join(root, 'undisturbed');
    for (let block = 0; block < BLOCKS; block += 1)
      cli.expect(0, [
        'lake',
        'add',
        run,
        '--to',
        undisturbed,
        '--id',
        'array',
        '--events',
        '--block',
        `${block}/${BLOCKS}`,
      ]);
    expect(filesOf(lake)).toEqual(filesOf(undisturbed));
    expect(ask(lake, 'SELECT count(*), count(DISTINCT rank) FROM lake.rank_summary WHERE rank IS NOT NULL')).toEqual([
      `${RANKS},${RANKS}`,
    ]);
  }, 600_000);

  it('an epilog adds the jobs that failed', async () => {
    const jobs = join(root, 'jobs');
    const submit = (status: number): string => {
      const script = scriptOf(
        `job-${status}.sh`,
        `mkdir -p ${jobs}/$SLURM_JOB_ID && cp ${run}/*rank-0.pickle ${run}/train.log ${jobs}/$SLURM_JOB_ID
${status === 0 ? 'true' : 'false'} || touch ${jobs}/$SLURM_JOB_ID/failed
`,
      );
      return slurm.ask('sbatch', '--parsable', '-o', '/dev/null', script).trim();
    };
    const [passed, failed] = [submit(0), submit(1)];
    await until('the epilogs', () => slurm.ask('squeue', '-h').trim() === '', 200);
    await until('the run', () => existsSync(join(root, 'collected', 'run_summary')));
    expect(readFileSync(join(root, `epilog-${failed}.log`), 'utf8')).toContain('1 rank');
    expect(existsSync(join(root, `epilog-${passed}.log`))).toBe(false);
    expect(ask(join(root, 'collected'), 'SELECT name FROM lake.run_summary')).toEqual([failed]);
  }, 300_000);
});
