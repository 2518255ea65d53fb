import { epochUs } from '../../src/text/clock-text.js';
import { type JsonPlace, type JsonTaker, listOf, member, memberAt, textOf } from '../../src/text/json-items.js';
import type { AccountingRecord } from './accounting-record.js';
import type { RequestedMemory, Size } from './figures.js';
import type { JobWriter } from './job-writer.js';
import { parseState } from './states.js';

const MOST_STEPS = 4096;
const MOST_TEXT = 2048;

/**
 * Jobs of `sacct --json`: numbers are plain in the data parsers up to 0.0.38 and `{set, infinite, number}` since
 * 0.0.39, states a word or a list of words, ids of steps a text or an object. Sizes are bytes in statistics and
 * megabytes in requests. Upstream: slurm `src/plugins/data_parser/v0.0.*\/parsers.c`, JOB and STEP.
 */
export function jobsTaker(writer: JobWriter): JsonTaker {
  return {
    item(job, place) {
      const id = memberAt(job, 'job_id');
      if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) return;
      const array = numberOf(memberAt(job, 'array', 'job_id'));
      const task = numberOf(memberAt(job, 'array', 'task_id'));
      const name = array !== undefined && array > 0 && task !== undefined ? `${array}_${task}` : String(id);
      writer.add(jobRecord(job, name, place));
      for (const step of listOf(member(job, 'steps')).slice(0, MOST_STEPS)) writer.add(stepRecord(step, name, place));
    },
    document() {},
  };
}

function jobRecord(job: unknown, id: string, place: JsonPlace): AccountingRecord {
  const state = stateOf(memberAt(job, 'state', 'current'));
  const nodes = numberOf(member(job, 'allocation_nodes'));
  const allocated = listOf(memberAt(job, 'tres', 'allocated'));
  const record = {
    ...common(job, memberAt(job, 'exit_code'), place),
    job: id,
    step: null,
    name: short(member(job, 'name')),
    state,
    stateText: state ?? '',
    endUs: timeOf(memberAt(job, 'time', 'end')),
    nodeList: nodeList(member(job, 'nodes')),
    nodes: nodes === undefined || nodes < 1 ? undefined : nodes,
    cpus: countOf(allocated, 'cpu'),
    limitS: minutes(memberAt(job, 'time', 'limit')),
    reqMem: requested(job),
    allocMem: megabytes(countOf(allocated, 'mem')),
    failedNode: short(member(job, 'failed_node')),
    reason: memberAt(job, 'state', 'reason') === 'None' ? undefined : short(memberAt(job, 'state', 'reason')),
  };
  return { ...record, text: described(record, job) };
}

function stepRecord(step: unknown, job: string, place: JsonPlace): AccountingRecord {
  const id = memberAt(step, 'step', 'id');
  const text =
    typeof id === 'object'
      ? String(textOf(member(id, 'step_id')) ?? numberOf(member(id, 'step_id')) ?? '')
      : (textOf(id) ?? '');
  const state = stateOf(member(step, 'state'));
  const largest = listOf(memberAt(step, 'tres', 'requested', 'max')).find((entry) => member(entry, 'type') === 'mem');
  const average = countOf(listOf(memberAt(step, 'tres', 'requested', 'average')), 'mem');
  const maxima = listOf(memberAt(step, 'tres', 'requested', 'max'));
  const record = {
    ...common(step, memberAt(step, 'exit_code'), place),
    job,
    // The id repeats that of the job, by number also where the job is a task of an array.
    step: /^[\w+]{1,40}$/.test(text.replace(/^\d{1,12}(?:[_+]\d{1,9})?\./, ''))
      ? text.replace(/^\d{1,12}(?:[_+]\d{1,9})?\./, '')
      : 'step',
    name: short(memberAt(step, 'step', 'name')),
    state,
    stateText: state ?? '',
    endUs: timeOf(memberAt(step, 'time', 'end')),
    nodeList: nodeList(memberAt(step, 'nodes', 'range')),
    tasks: numberOf(memberAt(step, 'tasks', 'count')),
    maxRss: bytes(numberOf(member(largest, 'count'))),
    maxRssNode: short(member(largest, 'node')),
    aveRss: bytes(average),
    maxVmSize: bytes(countOf(maxima, 'vmem')),
    gpuMem: bytes(countOf(maxima, 'gres', 'gpumem')),
    gpuUtil: countOf(maxima, 'gres', 'gpuutil'),
  };
  return { ...record, text: described(record, step) };
}

/** What jobs and steps have alike. */
function common(
  value: unknown,
  exit: unknown,
  { line, offset }: JsonPlace,
): Pick<AccountingRecord, 'exitCode' | 'exitText' | 'elapsedS' | 'startUs' | 'line' | 'offset'> {
  const code = numberOf(member(exit, 'return_code'));
  const signal = numberOf(memberAt(exit, 'signal', 'id')) ?? numberOf(memberAt(exit, 'signal', 'signal_id'));
  const isSignal = signal !== undefined && signal > 0 && signal <= 64;
  const elapsed = numberOf(memberAt(value, 'time', 'elapsed'));
  return {
    exitCode: isSignal ? -signal : code !== undefined && code > 0 ? code : null,
    exitText: code === undefined ? undefined : `${code}:${signal ?? 0}`,
    elapsedS: elapsed,
    startUs: timeOf(memberAt(value, 'time', 'start')),
    line,
    offset,
  };
}

/** The record's own words: a job as a whole has thousands. */
function described(record: Omit<AccountingRecord, 'text'>, value: unknown): string {
  const id = record.step === null ? record.job : `${record.job}.${record.step}`;
  const states = JSON.stringify(memberAt(value, 'state', 'current') ?? member(value, 'state') ?? null);
  const reason = record.reason === undefined ? '' : `, "reason": ${JSON.stringify(record.reason)}`;
  const exit = JSON.stringify(member(value, 'exit_code') ?? null);
  return `job ${id}: "state": ${states}${reason}, "exit_code": ${exit}`.slice(0, MOST_TEXT);
}

/** A number, plain or in an object that states whether it is set. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (member(value, 'set') !== true || member(value, 'infinite') === true) return undefined;
  const number = member(value, 'number');
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function timeOf(value: unknown): number | undefined {
  return epochUs(numberOf(value) ?? 0) ?? undefined;
}

function minutes(value: unknown): number | undefined {
  const number = numberOf(value);
  return number === undefined || number <= 0 ? undefined : number * 60;
}

function stateOf(value: unknown): string | null {
  const words = typeof value === 'string' ? [value] : listOf(value);
  for (const word of words) {
    const state = typeof word === 'string' ? parseState(word) : null;
    if (state !== null) return state;
  }
  return null;
}

function countOf(list: readonly unknown[], type: string, name = ''): number | undefined {
  const entry = list.find((one) => member(one, 'type') === type && (name === '' || member(one, 'name') === name));
  const count = numberOf(member(entry, 'count'));
  // Unknown counts are negative.
  return count === undefined || count < 0 ? undefined : count;
}

function bytes(count: number | undefined): Size | undefined {
  return count === undefined || count < 0
    ? undefined
    : { text: String(Math.round(count)), unit: 'bytes', unitBytes: 1 };
}

function megabytes(count: number | undefined): Size | undefined {
  return count === undefined || count <= 0
    ? undefined
    : { text: String(Math.round(count)), unit: 'M', unitBytes: 1024 ** 2 };
}

function requested(job: unknown): RequestedMemory | undefined {
  const perNode = megabytes(numberOf(memberAt(job, 'required', 'memory_per_node')));
  if (perNode !== undefined) return { ...perNode, per: 'node' };
  const perCpu = megabytes(numberOf(memberAt(job, 'required', 'memory_per_cpu')));
  return perCpu === undefined ? undefined : { ...perCpu, per: 'cpu' };
}

function short(value: unknown): string | undefined {
  const text = textOf(value)?.slice(0, MOST_TEXT);
  return text === undefined || text === '' ? undefined : text;
}

function nodeList(value: unknown): string | undefined {
  const text = short(value);
  return text === undefined || /^None assigned$/i.test(text) ? undefined : text;
}
