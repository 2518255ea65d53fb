import { MOMENT_FORMS, parseMoment } from '../../../derive/trace/moment.js';
import type { DiffLimits } from '../../../findings/diff/describe-diff.js';
import { diffDocument } from '../../../report/compare/diff-document.js';
import { defineVerb } from '../../define-verb.js';
import { diffOperands } from '../../diff-operands.js';
import { EXIT } from '../../exit-codes.js';
import { count, countOrAll, flag, HTML, MARKDOWN, misuse, operand, option, STEP_RANGE, size } from '../../options.js';

export const verb = defineVerb({
  name: 'diff',
  operands: {
    a: operand('<a>', 'before: a handle, a run, a commit, or a path'),
    b: operand('<b>', 'after'),
  },
  options: {
    at: option('--at <moment>', `the moment to compare: ${MOMENT_FORMS}`, parseMoment, 'peak'),
    atA: option('--at-a <moment>', 'another moment of a', parseMoment),
    atB: option('--at-b <moment>', 'another moment of b', parseMoment),
    matchStep: flag('--match-step', 'compare the last profiler step that both have whole'),
    rank: option('--rank <n>', 'the rank to compare; default: the first that both have', count),
    allRanks: flag('--all-ranks', 'totals of every rank that both have, too'),
    device: option(
      '--device <n>',
      'the device to compare; default: one that ran out of memory, else the one with a trace and the most',
      count,
    ),
    sites: option('--limit <n>', 'call sites to show; 0 = all', countOrAll, '12'),
    minBytes: option('--min <bytes>', 'leave out sites that changed by less, such as 1MiB', size),
    maxGrowth: option('--max-growth <bytes or %>', 'growth that is allowed, such as 512MiB or 5%', growth),
    repo: option(
      '--repo <dir>',
      'the repository of both commits: names the hunks and settings that may be why; a and b may be revisions',
    ),
    stepRange: STEP_RANGE,
    markdown: MARKDOWN,
    html: HTML,
    exitCode: flag('--exit-code', 'exit with 1 if b has more active bytes than a, or than --max-growth allows'),
  },
  async ask({ a, b, at, atA, atB, matchStep, rank, allRanks, device, sites, repo, stepRange, ...given }, session) {
    const maxGrowth = given.maxGrowth ?? (given.exitCode ? { bytes: 0 } : undefined);
    if (matchStep && (atA ?? atB) !== undefined)
      throw misuse('--match-step finds the moment of both sides; it goes with neither --at-a nor --at-b');
    const limits = { sites, minBytes: given.minBytes ?? 0, maxGrowth };
    const moments = [atA ?? at, atB ?? at] as const;
    const question = { limits, moments, matchStep, rank, allRanks, device, repo, stepRange };
    const { diff, targets } = await diffOperands([a, b], question, session);
    if (given.html === undefined) return { diff, page: undefined };
    const { pairPage } = await import('../../report-page.js');
    return { diff, page: await pairPage(diff, targets, session) };
  },
  full: ({ diff }) => diff,
  document: ({ diff }) => diffDocument(diff),
  reports: {
    html: ({ page }) => page!,
  },
  exitCode: ({ diff: { gate } }, { exitCode }) => (exitCode && gate?.exceeded === true ? EXIT.finding : EXIT.done),
});

/** `5%`, or a size. */
function growth(text: string, name: string): NonNullable<DiffLimits['maxGrowth']> {
  const percent = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(text);
  return percent === null ? { bytes: size(text, name) } : { share: Number(percent[1]) / 100 };
}
