/** The first line of `whatif`: which settings avoid the OOM here, and which devices serve every request. */
import type { WhatIfResult, WhatIfRow } from '../../model/results/replay.js';
import { counted } from '../text-pieces.js';
import { textsOf, wordOf } from '../words/fill.js';

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

const textOf = textsOf('what-if', 'answers');

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

export function answerText(result: WhatIfResult): string {
  const [recorded, ...asked] = askedRows(result.settings);
  const here = asked.filter(
    ({ first }) => first.target === null && first.capacity_bytes === recorded?.first.capacity_bytes,
  );
  const devices = deviceAnswers(result, asked);
  const settings = result.recorded.oom === null || here.length === 0 ? null : settingAnswer(result, here);
  if (devices.length === 0) return settings === null ? '' : `${settings}.`;
  const [{ setting }] = devices as [DeviceAnswer];
  const least = result.least_capacity.find((row) => row.setting === 'recorded');
  const code =
    result.recorded.oom === null
      ? 'no_oom'
      : setting !== 'recorded'
        ? 'with_setting'
        : least === undefined
          ? 'more_memory'
          : settings === null
            ? 'needs'
            : 'settings_and_need';
  return textOf(code, {
    ...result.recorded,
    ...{ setting, settings, least_bytes: least?.capacity_bytes, labels: devices.map(({ label }) => label) },
    list: devices.map(({ label, answer }) => `${label} ${deviceAnswer(answer)}`),
    served: devices.every(({ answer }) => answer === 'yes'),
  });
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
  if (result.repeats_oom === false) return textOf('not_repeated');
  const { whole_step: step, optimum_bytes: optimum } = result;
  const { capacity_bytes: capacity } = result.recorded;
  for (const answer of ['yes', 'step_short', 'unsure'] as const) {
    const settings = here.filter((row) => answerOf(row, step) === answer).map(({ first }) => first.setting);
    if (settings.length > 0)
      return textOf(answer, { settings: named(settings), one: settings.length === 1, peak_bytes: step?.peak_bytes });
  }
  if (capacity !== null && capacity < optimum)
    return textOf('impossible', { optimum_bytes: optimum, capacity_bytes: capacity });
  return textOf('none', { count: here.length, setting: here[0]!.first.setting });
}

function named(settings: readonly string[]): string {
  if (settings.length <= AT_MOST_NAMED) return settings.join(' and ');
  return `${settings[0]} and ${counted(settings.length - 1, 'other setting')}`;
}
