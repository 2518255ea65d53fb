/** The first line of `whatif`: which settings avoid the OOM here, and which devices serve every request. */
import type { WhatIfResult, WhatIfRow } from '../../model/results/replay.js';
import { formatBytes } from '../../model/units.js';
import { counted } from '../text-pieces.js';
import { wordOf } from '../words/fill.js';

/** The rows of one question: one, or the two bounds of a recording that begins with live memory. */
export interface AskedRow {
  readonly rows: readonly WhatIfRow[];
  readonly first: WhatIfRow;
}

/** The rows by question, in the order of the result. */
export function askedRows(rows: readonly WhatIfRow[]): AskedRow[] {
  const asked: { rows: WhatIfRow[]; first: WhatIfRow }[] = [];
  for (const row of rows) {
    const last = asked.at(-1);
    if (row.bound === 'pessimistic' && last?.first.bound === 'optimistic') last.rows.push(row);
    else asked.push({ rows: [row], first: row });
  }
  return asked;
}

/** Served up to the recorded OOM; the rest of the step needs more than the capacity. */
export function isStepShort(row: WhatIfRow, step: WhatIfResult['whole_step']): boolean {
  const capacity = row.capacity_bytes;
  return (
    row.outcome === 'fits' &&
    step !== null &&
    step.outcome !== 'unlike' &&
    capacity !== null &&
    capacity < step.peak_bytes
  );
}

type Answer = 'yes' | 'step_short' | 'unsure' | 'no';

function answerOf({ rows }: AskedRow, step: WhatIfResult['whole_step']): Answer {
  const served = rows.filter((row) => row.outcome === 'fits').length;
  const isRobust = rows.every((row) => row.robust);
  if (served < rows.length) return served === 0 && isRobust ? 'no' : 'unsure';
  if (!isRobust) return 'unsure';
  return rows.some((row) => isStepShort(row, step)) ? 'step_short' : 'yes';
}

const deviceAnswer = wordOf('codes', 'device_answers');

const AT_MOST_NAMED = 2;

/** Empty where no row answers: only edits, or blocks to free earlier, were asked for. */
export function answerText(result: WhatIfResult): string {
  const [recorded, ...asked] = askedRows(result.settings);
  const here = asked.filter(
    ({ first }) => first.target === null && first.capacity_bytes === recorded?.first.capacity_bytes,
  );
  const devices = deviceAnswers(result, asked);
  const list = devices.map(({ label, answer }) => `${label} ${deviceAnswer(answer)}`).join(', ');
  const setting = devices[0]?.setting ?? 'recorded';
  if (result.recorded.oom === null) {
    if (devices.length === 0) return '';
    const peak = formatBytes(result.recorded.peak_reserved_bytes);
    const isServed = devices.every(({ answer }) => answer === 'yes');
    const fits = `It fits on ${devices.map(({ label }) => label).join(', ')}`;
    return `The trace has no OOM; its peak is ${peak} reserved. ${isServed ? fits : `Every request is served: ${list}`}.`;
  }
  const settings = here.length === 0 ? '' : settingAnswer(result, here);
  if (devices.length === 0) return settings === '' ? '' : `${settings}.`;
  if (setting !== 'recorded') return `This OOM is avoided with ${setting}: ${list}.`;
  const need = needOf(result);
  if (need === '') return `${settings === '' ? '' : `${settings}. `}With more memory: ${list}.`;
  if (settings === '') return `This trace needs ${need}: ${list}.`;
  return `${settings}; the recorded settings need ${need}: ${list}.`;
}

/** The least capacity of the recorded settings, and what of the device is needed besides. */
function needOf({ least_capacity, recorded }: WhatIfResult): string {
  const least = least_capacity.find(({ setting }) => setting === 'recorded');
  if (least === undefined) return '';
  const outside = recorded.outside_bytes;
  return `${formatBytes(least.capacity_bytes)}${outside === null ? '' : ` and ${formatBytes(outside)} outside the allocator`}`;
}

interface DeviceAnswer {
  readonly label: string;
  readonly setting: string;
  readonly answer: Answer;
}

/** Of the settings recorded or asked for. */
function deviceAnswers(result: WhatIfResult, asked: readonly AskedRow[]): DeviceAnswer[] {
  return result.targets.flatMap(({ name, label }) => {
    const rows = asked.filter(({ first }) => first.target === name);
    const row = rows.find(({ first }) => first.setting === 'recorded') ?? rows[0];
    if (row === undefined) return [];
    return [{ label, setting: row.first.setting, answer: answerOf(row, result.whole_step) }];
  });
}

function settingAnswer(result: WhatIfResult, here: readonly AskedRow[]): string {
  if (result.repeats_oom === false)
    return 'No answer about settings is certain: with the recorded settings the model fails elsewhere than torch did';
  const step = result.whole_step;
  const of = (answer: Answer): string[] =>
    here.filter((row) => answerOf(row, step) === answer).map(({ first }) => first.setting);
  const [served, short, unsure] = [of('yes'), of('step_short'), of('unsure')];
  if (served.length > 0) return `${named(served)} ${verb(served, 'avoid')} this OOM on this device`;
  if (short.length > 0) {
    const remainder = `the rest of the step peaks at ${formatBytes(step!.peak_bytes)}, more than the capacity`;
    return `${named(short)} ${verb(short, 'avoid')} this OOM on this device, but ${remainder}`;
  }
  if (unsure.length > 0) return `${named(unsure)} may avoid this OOM on this device; the recording does not decide it`;
  const capacity = result.recorded.capacity_bytes;
  if (capacity !== null && capacity < result.optimum_bytes)
    return `No allocator setting avoids this OOM: ${formatBytes(result.optimum_bytes)} are live + requested, ${formatBytes(capacity)} are available`;
  if (here.length === 1) return `${here[0]!.first.setting} does not avoid this OOM on this device`;
  return `None of the ${counted(here.length, 'allocator setting')} tried avoids this OOM on this device`;
}

function verb(settings: readonly string[], word: string): string {
  return settings.length === 1 ? `${word}s` : word;
}

function named(settings: readonly string[]): string {
  if (settings.length <= AT_MOST_NAMED) return settings.join(' and ');
  return `${settings[0]} and ${counted(settings.length - 1, 'other setting')}`;
}
