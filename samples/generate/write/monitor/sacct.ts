/**
 * `sacct --parsable2` of a job that failed: the job, its batch script, what Slurm started with it, and the one step.
 * Format: sacct's manual. What the processes took on the host is made up: the simulation knows the devices only.
 */
import type { Attempt } from '../../run.js';
import { wholeBetween } from '../../simulate/random.js';
import { clock } from '../python-text.js';
import { jobOf, type RunFacts } from '../run-facts.js';
import { jobEndUs } from './node-samples.js';

const FIELDS = 'JobID|JobName|State|ExitCode|Start|End|Elapsed|NodeList|ReqMem|MaxRSS';
/** All of a node with a terabyte: `--mem=0`. */
const NODE_MEMORY = '1031500M';
/** From the allocation to the batch script's first line. */
const BATCH_US = 2_000_000;

export function accounting(facts: RunFacts, attempt: Attempt): string {
  const random = facts.random('sacct');
  const job = jobOf(facts, facts.run.attempts.length - 1);
  const startUs = attempt.plan.startUs;
  const endUs = jobEndUs(attempt);
  const kibibytes = (least: number, most: number): string => `${wholeBetween(random, least, most)}K`;
  const row = (id: string, name: string, state: string, fromUs: number, requested: string, resident: string): string =>
    [
      `${job}${id}`,
      name,
      state,
      state === 'FAILED' ? '1:0' : '0:0',
      stamp(fromUs),
      stamp(endUs),
      elapsed(fromUs, endUs),
      facts.host(0),
      requested,
      resident,
    ].join('|');
  const allocatedUs = startUs - BATCH_US;
  const rows = [
    FIELDS,
    row('', attempt.plan.name, 'FAILED', allocatedUs, NODE_MEMORY, ''),
    row('.batch', 'batch', 'FAILED', allocatedUs, '', kibibytes(31_000, 64_000)),
    row('.extern', 'extern', 'COMPLETED', allocatedUs, '', kibibytes(900, 1_200)),
    row('.0', 'torchrun', 'FAILED', startUs, '', kibibytes(58_000_000, 71_000_000)),
  ];
  return `${rows.join('\n')}\n`;
}

/** By the cluster's clock, without a zone. */
function stamp(us: number): string {
  return clock(us).replace(' ', 'T');
}

function elapsed(fromUs: number, toUs: number): string {
  const seconds = Math.floor(toUs / 1e6) - Math.floor(fromUs / 1e6);
  const two = (number: number): string => String(number).padStart(2, '0');
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
}
