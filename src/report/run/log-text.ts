/** The run at a glance, on one screen. */

import { groupBy } from '../../model/group-by.js';
import { pushAll } from '../../model/lists.js';
import { type LogIncident, type LogResult, type LogRun, VERSION_NAMES } from '../../model/results/log.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { endingCounts, endingText } from '../launch-text.js';
import { screen } from '../screen.js';
import { keepEnd, printable } from '../table.js';
import {
  clock,
  counted,
  countOr,
  figure,
  grouped,
  labelled,
  paragraph,
  rankWords,
  shortText,
  stepTime,
  UNKNOWN,
} from '../text-pieces.js';
import { launchesInOrder, launchTable } from './launch-table.js';
import { memoryTable } from './memory-table.js';
import { doubtfulLines } from './memory-text.js';

/** Lines of one screen; memory rows and failures share what the rest leaves. */
const SCREEN = 40;
/** Rows of launches; alike ones are in one. */
const MOST_ATTEMPTS = 8;
const MOST_MEMORY_ROWS = 8;
const LEAST_MEMORY_ROWS = 2;
/** A failure takes two lines, or three where its ranks are many. */
const FAILURE_LINES = 3;
const LEAST_FAILURES = 2;
const MOST_FAILURES = 6;
const MOST_RATES = 3;
/** Versions that are listed even when they are unknown. */

export function logText(result: LogResult): string {
  const parts = result.runs.map(runText);
  for (const failed of result.failed_sources)
    parts.push(paragraph(`not read: ${printable(failed.error.text)} (${failed.error.code})`).join('\n'));
  return `${parts.join('\n\n')}\n`;
}

function runText(run: LogRun): string {
  const hosts = run.hosts.length > 0 ? ` · ${counted(run.hosts.length, 'host')}` : '';
  const lines = [
    ...paragraph(
      `run ${printable(run.name)} · ${counted(run.files, 'file')} · ${counted(run.ranks_seen, 'rank')} seen${hosts} · ${counted(run.attempts.length, 'attempt')}`,
    ),
    ...labelled('versions', versions(run)),
    ...labelled('device', device(run)),
    ...labelled('layout', layout(run)),
    ...labelled('allocator', allocator(run)),
    ...attempts(run),
    ...iterations(run),
  ];
  if (run.phases.length > 0) pushAll(lines, labelled('phases', phases(run)));
  const groups = fold(run);
  const last = [...firstLines(run)];
  const free =
    SCREEN - lines.length - last.length - (run.memory_groups.length > 0 ? 2 : 1) - (groups.length > 0 ? 2 : 1);
  const failures = Math.min(groups.length, LEAST_FAILURES);
  const rows = Math.max(LEAST_MEMORY_ROWS, Math.min(MOST_MEMORY_ROWS, free - failures * FAILURE_LINES));
  const memory = memoryLines(run, rows);
  const left = Math.floor((SCREEN - lines.length - last.length - memory.length - 2) / FAILURE_LINES);
  pushAll(lines, [...memory, ...failureLines(run, groups, Math.max(1, Math.min(MOST_FAILURES, left))), ...last]);
  return lines.join('\n');
}

function memoryLines(run: LogRun, mostRows: number): string[] {
  const doubtful = doubtfulLines(run.memory_doubtful, '    ');
  const rows = memoryTable(run.memory_groups, mostRows, '    ');
  if (rows === null)
    return [...labelled('memory', doubtful.length > 0 ? 'no plausible reading' : 'none printed'), ...doubtful];
  const after = run.memory_groups.reduce<number | null>(
    (latest, { iteration }) => (iteration === null ? latest : Math.max(latest ?? 0, iteration)),
    null,
  );
  return [
    ...labelled(
      'memory',
      `${counted(run.memory_records, 'figure')} of memory lines${after === null ? '' : `, the last after iteration ${formatCount(after)}`}`,
    ),
    ...rows.split('\n'),
    ...doubtful,
  ];
}

export function versions(run: LogRun): string {
  const texts = VERSION_NAMES.flatMap((name) => {
    const version = run.versions[name];
    return version === null ? [] : [`${name} ${shortText(version, 30)}`];
  });
  for (const [what, commit] of Object.entries(run.commits).slice(0, 3))
    texts.push(`commit${what === 'run' ? '' : ` of ${shortText(what, 20)}`} ${shortText(commit, 12)}`);
  return printed(texts);
}

/** What the texts have of these. */
function printed(parts: readonly (string | null)[]): string {
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? 'none printed' : known.join(' · ');
}

export function device({ gpu }: LogRun): string {
  return printed([
    gpu.name === null ? null : shortText(gpu.name, 40),
    gpu.total_bytes === null ? null : formatBytes(gpu.total_bytes),
    gpu.count === null ? null : `count ${formatCount(gpu.count)}`,
  ]);
}

export function layout(run: LogRun): string {
  const { tp, pp, vpp, cp, ep, etp, dp } = run.parallel;
  const size = (name: string, value: number | null): string | null =>
    value === null ? null : `${name} ${formatCount(value)}`;
  return printed([
    size('world', run.world_size),
    size('TP', tp),
    size('PP', pp),
    vpp === 1 ? null : size('VPP', vpp),
    size('CP', cp),
    size('DP', dp),
    ep === null || ep === 1 ? null : `EP ${ep}${etp === null ? '' : `, ETP ${etp}`}`,
  ]);
}

export function allocator(run: LogRun): string {
  if (run.allocator_conf === null) return 'unknown: no variable and no snapshot has its settings';
  const origin = run.origins['allocator_conf'] ?? '';
  return `${run.allocator_conf === '' ? 'no settings' : shortText(run.allocator_conf, 100)}  [${shortText(origin, 80)}]`;
}

function attempts(run: LogRun): string[] {
  const [only] = run.attempts;
  if (run.attempts.length < 2) {
    if (only?.time_us != null) return labelled('attempts', shortText(attemptWords(only, run.files), 86));
    return only === undefined || only.ending === 'unknown' ? [] : labelled('ended', endingText(only, run.files));
  }
  return [
    ...labelled('launches', `${formatCount(run.attempts.length)}: ${endingCounts(launchesInOrder(run.attempts))}`),
    ...launchTable(run, MOST_ATTEMPTS, '    '),
  ];
}

export function attemptWords(attempt: LogRun['attempts'][number], files: number): string {
  const reached =
    attempt.iteration_lines === 0
      ? 'no iteration line'
      : `iterations ${countOr(attempt.first_iteration)} to ${countOr(attempt.last_iteration)}`;
  const phase = attempt.last_phase === null ? '' : `, last phase ${attempt.last_phase.replaceAll('_', ' ')}`;
  const failed = attempt.incidents === 0 ? '' : `, ${counted(attempt.incidents, 'failure line')}`;
  const time = attempt.time_us === null ? '' : ` from ${clock(attempt.time_us)}`;
  return `${attempt.attempt}${time}: ${reached}${attempt.ending === 'unknown' ? phase : `, ${endingText(attempt, files)}`}${failed}`;
}

/** Step times and throughput; empty where none is known. */
export function paceWords(run: LogRun): { readonly time: string; readonly throughput: string } {
  const { iterations: all, rates, derived_step: derived } = run;
  const { steady } = all;
  const words = (kind: 'rate' | 'time'): string[] =>
    rates
      .filter((rate) => rate.kind === kind)
      .slice(0, MOST_RATES)
      .map(({ name, unit, median, count }) => {
        const of = count > 1 ? ` (median of ${formatCount(count)})` : '';
        return `${shortText(name, 40)} ${figure(median)}${unit === null ? '' : ` ${unit}`}${of}`;
      });
  const times = words('time');
  if (steady.timed > 0)
    times.unshift(
      `median ${stepTime(steady.median_step_ms)}, p95 ${stepTime(steady.p95_step_ms)}, max ${stepTime(steady.max_step_ms)} without the first line of each attempt (all: median ${stepTime(all.median_step_ms)})`,
    );
  else if (all.timed > 0) times.unshift(`median ${stepTime(all.median_step_ms)}, of first lines of attempts only`);
  else if (derived !== null) times.unshift(`about ${stepTime(derived.ms)}, from ${derived.from}`);
  const tflops = steady.median_tflops_per_gpu ?? all.median_tflops_per_gpu;
  const rated = [...(tflops === null ? [] : [`median ${grouped(tflops, 1)} TFLOP/s/GPU`]), ...words('rate')];
  return { time: times.join(' · '), throughput: rated.join(' · ') };
}

function iterations(run: LogRun): string[] {
  const { time, throughput } = paceWords(run);
  return [
    ...labelled('iterations', iterationWords(run)),
    ...(time === '' ? [] : labelled('step time', time)),
    ...(throughput === '' ? [] : labelled('throughput', throughput)),
  ];
}

export function iterationWords({ iterations: all }: LogRun): string {
  if (all.count === 0) return 'none printed';
  const target = all.target === null ? '' : ` of ${formatCount(all.target)}`;
  const order = all.monotonic === false ? ', not rising throughout' : '';
  const bad = [
    (all.skipped_iterations ?? 0) > 0 ? `${formatCount(all.skipped_iterations!)} skipped` : '',
    (all.nan_iterations ?? 0) > 0 ? `${formatCount(all.nan_iterations!)} NaN` : '',
  ].filter((text) => text !== '');
  return `${counted(all.count, 'line')}${all.copies > 0 ? ` (${formatCount(all.copies)} more in second files)` : ''}, ${countOr(all.first)} to ${countOr(all.last)}${target}${order}${bad.length === 0 ? '' : ` · ${bad.join(', ')}`}`;
}

export function phases(run: LogRun): string {
  const last = run.attempts.at(-1)?.attempt;
  const shown = run.phases.filter(({ attempt, phase }) => attempt === last && phase !== 'unknown');
  const texts = shown.map(
    ({ phase, count }) => `${phase.replaceAll('_', ' ')}${count > 1 ? ` ×${formatCount(count)}` : ''}`,
  );
  return texts.length === 0 ? UNKNOWN : texts.slice(0, 12).join(' → ');
}

/** Failure lines of one attempt and kind. */
export interface Folded {
  readonly first: LogIncident;
  readonly incidents: LogIncident[];
}

/** In the order of the first of each; the first failure's own group leads. */
export function fold(run: LogRun): Folded[] {
  const lead = run.first_failure === null ? undefined : run.incidents[run.first_failure.incident];
  const ordered = lead === undefined ? run.incidents : [lead, ...run.incidents.filter((other) => other !== lead)];
  const groups = groupBy(ordered, ({ attempt, kind }) => `${attempt ?? ''} ${kind}`);
  return [...groups.values()].map((incidents) => ({ first: incidents[0]!, incidents }));
}

function place(file: string, line: number): string {
  return `[${keepEnd(printable(file), 60)} line ${formatCount(line)}]`;
}

function failureLines(run: LogRun, groups: readonly Folded[], most: number): string[] {
  if (groups.length === 0) return labelled('failures', 'none found');
  const several = run.attempts.length > 1;
  const copies = run.incidents.filter(({ copy_of }) => copy_of !== null).length;
  const again = copies === 0 ? '' : ` (and ${formatCount(copies)} that are repeated in a second file)`;
  const lines = [`  failures    ${counted(run.incidents.length - copies, 'line')}${again}`];
  for (const { first, incidents } of groups.slice(0, most)) {
    const times = incidents.length > 1 ? ` ×${formatCount(incidents.length)}` : '';
    const attempt = several && first.attempt !== null ? ` · attempt ${first.attempt}` : '';
    const requested = first.requested_bytes === null ? '' : ` · wanted ${formatBytes(first.requested_bytes)}`;
    const free = first.free_bytes === null ? '' : `, ${formatBytes(first.free_bytes)} free`;
    const when = first.iteration === null ? '' : ` · after iteration ${formatCount(first.iteration)}`;
    const ranks = rankWords(
      incidents.map(({ rank }) => rank),
      4,
    );
    pushAll(lines, paragraph(`    ${first.kind}${times} · ${ranks}${attempt}${requested}${free}${when}`).slice(0, 2));
    lines.push(`      ${shortText(first.text, screen.width - 6)}`);
  }
  if (groups.length > most) {
    const otherGroups = groups
      .slice(most)
      .map(({ first, incidents }) => `${first.kind} ×${formatCount(incidents.length)}`);
    lines.push(`    ${shortText(`and ${otherGroups.join(', ')}`, screen.width - 4)}`);
  }
  return lines;
}

function* firstLines(run: LogRun): Generator<string> {
  const first = run.first_failure;
  if (first !== null) {
    const device = first.device === null ? '' : `, device ${first.device}`;
    const host = first.host === null ? '' : ` on ${shortText(first.host, 30)}`;
    const time = first.time === null ? '' : ` at ${shortText(first.time, 30)}`;
    yield* labelled(
      'first',
      `${first.kind} of ${first.rank === null ? 'an unknown rank' : `rank ${first.rank}`}${device}${host}${time} ${place(first.file, first.line)}: ${printable(first.why)}`,
    );
    if (first.also_failed.length > 0) yield* labelled('also failed', rankWords(first.also_failed, 6));
    if (first.victims.length > 0 || first.secondary > 0) {
      const victims = first.victims.length === 0 ? 'no other rank' : rankWords(first.victims, 6);
      yield* labelled('victims', `${victims}; ${counted(first.secondary, 'failure line')} that only follow or report`);
    }
  }
}
