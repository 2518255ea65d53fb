/**
 * In place of a training program: copies what was recorded of `--commit` and `--attempt` to `--output`, and exits as
 * that run did.
 */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const options = Object.fromEntries(['commit', 'attempt', 'output'].map((name) => [name, { type: 'string' }]));
const { commit, attempt, output } = parseArgs({ options, strict: false }).values;
const run = join(process.env.RECORDED_RUNS, `${commit}-${attempt}`);
cpSync(run, output, { recursive: true });
process.exitCode = Number(readFileSync(`${run}.status`, 'utf8'));
