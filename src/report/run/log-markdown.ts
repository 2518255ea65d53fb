/** The run at a glance as Markdown. */
import type { LogResult, LogRun } from '../../model/results/log.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { endingCounts } from '../launch-text.js';
import { mdCode, mdDetails, mdFence, mdTable, mdText } from '../markdown.js';
import { left, right } from '../table.js';
import { counted, rankWords } from '../text-pieces.js';
import { launchesInOrder, launchTable } from './launch-table.js';
import { allocator, device, fold, iterationWords, layout, paceWords, phases, versions } from './log-text.js';
import { memoryTable } from './memory-table.js';
import { doubtfulLines } from './memory-text.js';

const MOST_MEMORY_ROWS = 24;
const MOST_FAILURES = 12;
const MOST_ATTEMPTS = 20;

export function logMarkdown(result: LogResult): string {
  const lines = result.runs.flatMap((run) => [...runLines(run), '']);
  for (const { error } of result.failed_sources) lines.push(`- not read: ${mdText(error.text)} (${error.code})`);
  return `${lines.join('\n').trimEnd()}\n`;
}

function runLines(run: LogRun): string[] {
  const { time, throughput } = paceWords(run);
  const facts: readonly (readonly [string, string])[] = [
    ['versions', versions(run)],
    ['device', device(run)],
    ['layout', layout(run)],
    ['allocator', allocator(run)],
    ['iterations', iterationWords(run)],
    ['step time', time],
    ['throughput', throughput],
    ['phases', run.phases.length === 0 ? '' : phases(run)],
  ];
  const rows = facts.flatMap(([label, text]) => (text === '' ? [] : [[label, mdText(text)]]));
  const hosts = run.hosts.length > 0 ? `, ${counted(run.hosts.length, 'host')}` : '';
  return [
    `## mbforensics log: ${mdText(run.name)}`,
    '',
    `${counted(run.files, 'file')}, ${counted(run.ranks_seen, 'rank')} seen${hosts}, ${counted(run.attempts.length, 'attempt')}`,
    ...firstLines(run),
    '',
    ...mdTable([left(''), left('from the logs')], rows),
    ...failureLines(run),
    ...attemptLines(run),
    ...memoryLines(run),
  ];
}

function firstLines(run: LogRun): string[] {
  const first = run.first_failure;
  if (first === null) return [];
  const rank = first.rank === null ? 'an unknown rank' : `rank ${formatCount(first.rank)}`;
  const where = `${first.file} line ${formatCount(first.line)}`;
  return [
    '',
    `**First failure**: ${mdText(`${first.kind} of ${rank}`)}, ${mdCode(where)}: ${mdText(first.why)}`,
    ...(first.also_failed.length === 0 ? [] : ['', `Also failed: ${mdText(rankWords(first.also_failed, 6))}`]),
    ...(first.victims.length === 0 ? [] : ['', `Victims: ${mdText(rankWords(first.victims, 6))}`]),
  ];
}

function failureLines(run: LogRun): string[] {
  const groups = fold(run);
  if (groups.length === 0) return ['', 'Failures: none found'];
  const rows = groups.slice(0, MOST_FAILURES).map(({ first, incidents }) => [
    mdText(first.kind),
    formatCount(incidents.length),
    mdText(
      rankWords(
        incidents.map(({ rank }) => rank),
        4,
      ),
    ),
    first.attempt === null ? '' : formatCount(first.attempt),
    first.iteration === null ? '' : formatCount(first.iteration),
    first.requested_bytes === null ? '' : formatBytes(first.requested_bytes),
    first.free_bytes === null ? '' : formatBytes(first.free_bytes),
    mdCode(first.text.length <= 160 ? first.text : `${first.text.slice(0, 159)}…`),
  ]);
  const columns = [
    left('failure'),
    right('lines'),
    left('ranks'),
    right('attempt'),
    right('after iteration'),
    right('requested'),
    right('free'),
    left('text of the first'),
  ];
  const more = groups.length - MOST_FAILURES;
  return [
    '',
    ...mdTable(columns, rows),
    ...(more > 0 ? ['', `${formatCount(more)} more kinds; \`--json\` has all`] : []),
  ];
}

function attemptLines(run: LogRun): string[] {
  if (run.attempts.length < 2) return [];
  const lines = launchTable(run, MOST_ATTEMPTS, '').filter((line) => line !== '');
  return mdDetails(
    `${counted(run.attempts.length, 'launch')}: ${endingCounts(launchesInOrder(run.attempts))}`,
    mdFence(lines, 'text'),
  );
}

/** In a fence, as on the screen: its columns line up in any window. */
function memoryLines(run: LogRun): string[] {
  const rows = memoryTable(run.memory_groups, MOST_MEMORY_ROWS, '');
  const doubtful = doubtfulLines(run.memory_doubtful, '');
  if (rows === null && doubtful.length === 0) return ['', 'Memory: none printed'];
  const lines = [...(rows ?? '').split('\n'), ...doubtful].filter((line) => line !== '');
  return ['', `Memory: ${counted(run.memory_records, 'reading')} of memory lines`, '', ...mdFence(lines, 'text')];
}
