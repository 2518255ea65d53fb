/** Checks as a table, each with what its figures are of below it. */
import { maxOf } from '../../model/lists.js';
import type { CompareCheck, Preset } from '../../model/results/compare.js';
import { screen } from '../screen.js';
import { keepEnd, left, right, table } from '../table.js';
import { shortText, wrapped } from '../text-pieces.js';
import { changeOf, checkFigure, nameOf, relativeOf, remarkOf, toleranceOf } from './check-words.js';
import { upstreamWords } from './upstream-words.js';

/** Columns for a figure or a word of a side. */
const VALUE = 14;
/** Of indent and gaps between the columns. */
const GAPS = 14;
const LEAST_NAME = 12;

export interface CheckTableLook {
  readonly preset: Preset;
  /** Whether the table has a line below this check. */
  readonly explains: (check: CompareCheck) => boolean;
  /** Titles of the two sides. */
  readonly sides?: readonly [golden: string, current: string];
}

export function checkTable(checks: readonly CompareCheck[], look: CheckTableLook): string[] {
  if (checks.length === 0) return [];
  const [golden, current] = look.sides ?? ['golden', 'current'];
  const titles = [golden, current, 'change', '', 'tolerance', 'status'];
  const cells = checks.map((check) => [
    checkFigure(check.golden, check.unit, VALUE),
    checkFigure(check.current, check.unit, VALUE),
    shortText(changeOf(check), 13),
    shortText(relativeOf(check), 10),
    shortText(toleranceOf(check), 9),
    check.why?.code === 'ended_early' ? 'not comparable' : check.status,
  ]);
  const widths = titles.map((title, i) => Math.max(title.length, maxOf(cells.map((row) => row[i]!.length))));
  const nameWidth = Math.max(LEAST_NAME, screen.width - GAPS - widths.reduce((sum, width) => sum + width, 0));
  const [head = '', ...rows] = table(
    [left('check'), ...titles.slice(0, -1).map((title) => right(title)), left('status')],
    checks.map((check, i) => [keepEnd(nameOf(check), nameWidth), ...cells[i]!]),
    '  ',
  ).split('\n');
  return [head, ...rows.flatMap((row, i) => [row, ...belowRow(checks[i]!, look)])];
}

function belowRow(check: CompareCheck, { preset, explains }: CheckTableLook): string[] {
  const remark = explains(check) ? remarkOf(check) : '';
  const upstream = upstreamWords(check, preset);
  return [cutWords(check), remark, upstream === null ? '' : `"${upstream}"`]
    .filter((text) => text !== '')
    .flatMap((text) => wrapped(`    ${text}`, '    '));
}

/** Words that do not fit into the columns. */
function cutWords({ golden, current, unit }: CompareCheck): string {
  const isCut = [golden, current].some((value) => typeof value === 'string' && value.trim().length > VALUE);
  return isCut ? `${checkFigure(golden, unit)} → ${checkFigure(current, unit)}` : '';
}
