/**
 * The first screen, for an engineer who has ten seconds: VERDICT, FIX, WHY, MEMORY, SITES, UNKNOWN, NEXT. At most
 * {@link HEIGHT} lines; `--full` adds all evidence below it (`evidence-text.ts`).
 */
import { maxOf, pushAll } from '../../model/lists.js';
import type { DiagnoseResult, ShortFix, VerdictResult as Verdict } from '../../model/results/common.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { isOomKind } from '../../model/vocabulary.js';
import { launchText } from '../launch-text.js';
import { keepEnd, printable, wrap } from '../plain-text.js';
import { bold, cyan, green, red, screen, yellow } from '../screen.js';
import { clip, tidy } from '../screen-lines.js';
import { costWords, percentText, savingWords } from '../verdict/action-words.js';
import { plain as words } from '../verdict/words.js';
import { accountBar } from './account-text.js';
import { evidenceLines } from './evidence-text.js';
import { isUnrecorded } from './unrecorded.js';

/** Lines of the first screen. */
export const HEIGHT = 16;
const LABEL = 9;
const bodyWidth = (): number => screen.width - LABEL;

/** What the user typed to get this diagnosis: commands to paste take it along. */
export interface DiagnosedTarget {
  readonly operands?: readonly string[] | undefined;
  readonly db?: string | undefined;
  /** As given to `--capacity`: without it `show` might number other evidence. */
  readonly capacity?: string | undefined;
  /** With all evidence. */
  readonly full?: boolean | undefined;
}

interface Section {
  readonly label: string;
  readonly lines: readonly string[];
  /** Lines that stay when the screen is full. */
  readonly least: number;
  readonly style?: ((line: string, i: number) => string) | undefined;
}

/** Sections in the order in which they lose a line when the screen is full. */
const GIVE_WAY = ['NEXT', 'UNKNOWN', 'WHY', 'FIX', 'OTHERS', 'VERDICT', 'NOT READ', 'MEMORY', 'SITES'];

export function diagnoseText(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const [first, ...others] = result.verdicts;
  const sections = first === undefined ? nothingFound(result, target) : sectionsOf(first, others, result, target);
  const head = clip(
    wrap(first === undefined ? `NOTHING RECOGNISED · run ${runName(result)}` : headOf(first, result), screen.width),
    1,
    screen.width,
  );
  const lines = [bold(head[0]!), ...fitted(sections, HEIGHT - 1)];
  if (target.full === true && first !== undefined) pushAll(lines, ['', ...evidenceLines(first, others, result)]);
  return `${lines.join('\n')}\n`;
}

/** Drops lines of sections in the order of {@link GIVE_WAY} until `most` are left. */
function fitted(sections: readonly Section[], most: number): string[] {
  const counts = sections.map(({ lines }) => lines.length);
  let spare = most - counts.reduce((sum, count) => sum + count, 0);
  for (const label of GIVE_WAY) {
    if (spare >= 0) break;
    sections.forEach((section, i) => {
      while (section.label === label && spare < 0 && counts[i]! > section.least) {
        counts[i]! -= 1;
        spare += 1;
      }
    });
  }
  return sections.flatMap(({ label, lines, style = (line) => line }, s) =>
    cut(label, lines, counts[s]!).map((line, i) =>
      `${i === 0 ? bold(label.padEnd(LABEL)) : ' '.repeat(LABEL)}${style(line, i)}`.trimEnd(),
    ),
  );
}

/** Commands are left out whole. */
function cut(label: string, lines: readonly string[], count: number): readonly string[] {
  return label === 'NEXT' || count === 0 ? lines.slice(0, count) : clip(lines, count, bodyWidth());
}

function section(label: string, texts: readonly string[], least = 0, style?: Section['style']): Section {
  return { label, lines: texts.flatMap((text) => wrap(tidy(text), bodyWidth())), least, style };
}

function nothingFound(result: DiagnoseResult, { operands = [] }: DiagnosedTarget): Section[] {
  const path = operands.length === 0 ? '' : ` ${operands.map(quoted).join(' ')}`;
  return [
    section(
      'VERDICT',
      ['no failure: there is no memory snapshot, no error message and no training log in these files'],
      1,
    ),
    failedSources(result),
    section(
      'NEXT',
      [
        'name the log of the rank that failed, the job output of the scheduler, or a memory snapshot',
        `mbforensics doctor${path}  lists which files can be read`,
      ],
      2,
    ),
  ];
}

function sectionsOf(
  first: Verdict,
  others: readonly Verdict[],
  result: DiagnoseResult,
  target: DiagnosedTarget,
): Section[] {
  return [
    section('VERDICT', [verdictTitle(first), first.summary], 2, (line, i) =>
      i === 0 ? bold(toneOf(first)(line)) : line,
    ),
    fixSection(first, result),
    section('WHY', whyOf(first).slice(0, 2), 2),
    memorySection(first),
    sitesSection(first),
    othersSection(others, first, result),
    unknownSection(first),
    failedSources(result),
    nextSection(first, target),
  ];
}

// ---- VERDICT

const runName = ({ run }: DiagnoseResult): string => keepEnd(printable(run), 48);

function headOf(verdict: Verdict, result: DiagnoseResult): string {
  const { rank, device } = verdict;
  const { launches, judged_launch: launch } = result;
  return [
    outcomeOf(verdict, result),
    `run ${runName(result)}`,
    rankPlace(rank, result),
    ...(device === null ? [] : [`device ${device}`]),
    ...(launches.length > 1 ? [`launch ${launch} of ${formatCount(launches.length)}`] : []),
    ...(result.verdicts.length > 1 ? [`${formatCount(result.verdicts.length)} verdicts`] : []),
  ].join(' · ');
}

/** `OOM` only where a failure is one. */
function outcomeOf(verdict: Verdict, { first_failure: first }: DiagnoseResult): string {
  const { cause, evidence } = verdict;
  if (isUnrecorded(verdict)) return 'NO OOM RECORDED';
  if (cause === 'not_oom') return 'NO OOM';
  if (cause !== 'undecided') return 'OOM';
  if (first?.kind === 'killed') return 'KILLED';
  if (evidence.length === 0 || evidence.some(({ kind }) => kind === 'last_iteration')) return 'NO FAILURE FOUND';
  return first === null || isOomKind(first.kind) ? 'OOM' : 'UNDECIDED';
}

function rankPlace(rank: number | null, { ranks }: DiagnoseResult): string {
  if (rank === null) return 'rank unknown';
  const world = ranks?.world_size == null ? '' : ` of ${formatCount(ranks.world_size)}`;
  const stage = ranks?.stages.find((one) => one.ranks.includes(rank))?.pp ?? null;
  return `rank ${rank}${world}${stage === null ? '' : ` (stage PP${stage})`}`;
}

function verdictTitle(verdict: Verdict): string {
  const { cause, detail } = verdict;
  if (isUnrecorded(verdict) && cause === 'not_oom') return 'no OOM recorded in this file';
  const name = `${words(cause)}${detail === null ? '' : ` (${words(detail)})`}`;
  const known = cause === 'undecided' ? '' : `, ${sureness(verdict)}`;
  return `${name}${known}`;
}

/** How sure, in words. */
function sureness({ confidence, replay, cause }: Verdict): string {
  if (confidence !== 'proven') return `confidence ${confidence}`;
  return replay !== null && cause !== 'not_oom' ? 'confirmed by replay' : 'proven';
}

function toneOf({ cause }: Verdict): (text: string) => string {
  return cause === 'not_oom' ? green : cause === 'undecided' ? yellow : red;
}

// ---- FIX

const PASTED = ['sbatch', 'megatron_bridge', 'megatron_lm', 'nemo', 'python'] as const;
const MOST_PASTED = 2;

function fixSection(verdict: Verdict, { advice }: DiagnoseResult): Section {
  if (verdict.cause === 'not_oom' && verdict.next.length === 0) return section('FIX', []);
  const [action] = advice?.actions ?? [];
  const chosen = (action?.fixes ?? []).flatMap((id) => advice!.fixes.filter((fix) => fix.id === id));
  const lines = chosen.flatMap(({ paste }) => PASTED.map((name) => paste[name]).find((some) => some.length > 0) ?? []);
  const pasted = [...new Set(lines)].slice(0, MOST_PASTED);
  const [fix] = chosen;
  // A comment to read is not a line to paste.
  if (fix === undefined || pasted.length === 0 || pasted.every((line) => line.trimStart().startsWith('#')))
    return section('FIX', verdict.next.slice(0, 2), 1, undefined);
  const more = verdict.next.length > 1 ? [`then: ${verdict.next[1]!}`] : [];
  const style = (line: string, i: number): string => (i < pasted.length ? cyan(line) : line);
  return section('FIX', [...pasted, fixFigures(chosen), ...more], pasted.length + 1, style);
}

/** What a fix saves and costs, how each is known, and whether it is enough. */
function fixFigures(fixes: readonly ShortFix[]): string {
  const [fix] = fixes;
  const parts = fixes.length > 1 ? [`${fixes.length} settings, enough together`] : [];
  if (fix !== undefined && fixes.length === 1) {
    const { saving_bytes: bytes, saving_by: by, cost_percent: cost, closes } = fix;
    if (bytes !== null && bytes > 0) parts.push(`saves ${formatBytes(bytes)} (${savingWords(by)})`);
    parts.push(
      cost === null
        ? 'cost not measured'
        : `${cost === 0 ? 'no throughput cost' : percentText(cost)} (${costWords(fix)})`,
    );
    if (by === 'what_if' && closes !== false) parts.push('replayed with it, this OOM does not occur');
    parts.push(closes === true ? 'enough' : closes === false ? 'not enough alone' : 'not known to be enough');
  }
  for (const { requires } of fixes) for (const need of requires.slice(0, 1)) parts.push(`needs: ${need}`);
  return parts.join('; ');
}

// ---- WHY

/** The results that decide, the replay first: it is the proof. */
function whyOf(verdict: Verdict): string[] {
  const { evidence, cause } = verdict;
  const texts = (about: string): string[] => evidence.filter((entry) => entry.about === about).map(({ text }) => text);
  const [decides, ...others] = texts('test');
  const [reproduced, counterfactual] = texts('replay');
  const request = texts('request')[0];
  const found = [decides, counterfactual ?? reproduced, ...others, ...texts('message'), ...texts('context'), request];
  if (cause === 'host_oom' || cause === 'not_oom' || cause === 'undecided')
    return [...texts('message'), ...texts('test'), ...texts('context')];
  return found.filter((text) => text !== undefined);
}

// ---- MEMORY and SITES

function memorySection({ accounting_total: total, accounting, accounting_peak: peak }: Verdict): Section {
  const account =
    total !== null
      ? { total, parts: accounting, when: '' }
      : peak === null
        ? null
        : { total: peak.total, parts: peak.parts, when: peak.moment === 'dump' ? ' at the dump' : ' at the peak' };
  if (account === null) return section('MEMORY', []);
  const { bar, legend } = accountBar(account.total, account.parts, bodyWidth() - account.when.length);
  const isPartial = account.total.kind === 'reserved' || account.total.kind === 'reserved_and_free';
  const unknown = isPartial ? ' (size of the device unknown)' : '';
  return {
    label: 'MEMORY',
    lines: [`${bar}${account.when}`, ...wrap(`${legend}${unknown}`, bodyWidth())],
    least: 2,
  };
}

function sitesSection({ evidence }: Verdict): Section {
  const items = evidence.find(({ kind }) => kind === 'live_sites')?.items ?? [];
  const sizes = items.map(({ numbers }) => formatBytes(numbers['bytes'] ?? 0));
  const width = Math.max(0, maxOf(sizes.map((size) => size.length)));
  const lines = items.map(({ name, numbers }, i) => {
    const blocks = numbers['blocks'];
    const count = blocks === undefined ? '' : `  (${formatCount(blocks)} ${blocks === 1 ? 'block' : 'blocks'})`;
    const left = bodyWidth() - width - 2 - count.length;
    return `${sizes[i]!.padStart(width)}  ${keepEnd(printable(name ?? ''), left)}${count}`;
  });
  return { label: 'SITES', lines, least: 1 };
}

// ---- the end

/** Verdicts of other devices and ranks, and the ends of other launches in the same logs. */
function othersSection(others: readonly Verdict[], first: Verdict, result: DiagnoseResult): Section {
  const kinds = new Map<string, number>();
  for (const { cause } of others) {
    const name = cause === first.cause ? 'the same verdict' : words(cause);
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
  }
  const what = others.every(({ rank }) => rank === first.rank) ? 'other devices' : 'other ranks or devices';
  const verdicts = [...kinds].map(([name, count]) => `${name} (${formatCount(count)})`).join(', ');
  const { launches, judged_launch: judged } = result;
  const ends = launches.filter(({ attempt }) => attempt !== judged).slice(-MOST_LAUNCHES);
  const texts = [
    ...(others.length === 0 ? [] : [`${what}: ${verdicts}`]),
    ...(ends.length === 0 ? [] : [`other launches: ${ends.map(launchText).join(' · ')}`]),
  ];
  return section('OTHERS', texts, 0);
}

const MOST_LAUNCHES = 3;

function unknownSection({ cause, missing, captures }: Verdict): Section {
  if (missing.length === 0) return section('UNKNOWN', []);
  const [capture] = captures;
  const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : '';
  const texts = [
    `${missing[0]!}${more}`,
    ...(capture === undefined ? [] : [`capture ${capture.title}: mbforensics show captures`]),
  ];
  return section('UNKNOWN', texts, cause === 'undecided' ? 2 : 1);
}

function failedSources({ failed_sources: failed }: DiagnoseResult): Section {
  const [first] = failed;
  if (first === undefined) return section('NOT READ', []);
  const more = failed.length > 1 ? `${formatCount(failed.length)} files; the first: ` : '';
  return section('NOT READ', [`${more}${first.error.text} (${first.error.code})`], 1);
}

function nextSection({ commands }: Verdict, target: DiagnosedTarget): Section {
  if (target.operands?.includes('-') === true)
    return section(
      'NEXT',
      ['save the text as a file, and name it with the snapshot: mbforensics train.log snapshot.pickle'],
      1,
    );
  const full = commands.map((command) => withTarget(command, target));
  const line = full.join('  ·  ');
  if (full.length > 0 && line.length <= bodyWidth()) return section('NEXT', [line], 1);
  const fits = (text: string): boolean =>
    text.length <= bodyWidth() && text.split(' ').every((word) => word.length <= 64);
  if (full.length > 0 && full.every(fits)) return { label: 'NEXT', lines: full, least: 1 };
  // A path too long for a line would be cut, and could not be pasted.
  const short = commands.map((command) => (command.includes('/snapshot#') ? command : `${command} PATH`));
  return section('NEXT', short.length === 0 ? [] : [`${short.join('  ·  ')}  (PATH: as given here)`], 1);
}

/** A command as the user can paste it. */
export function withTarget(command: string, { operands = [], db, capacity }: DiagnosedTarget): string {
  const of = command.includes('/snapshot#') ? '' : operands.map((operand) => ` ${quoted(operand)}`).join('');
  const capacityOption =
    capacity === undefined || !command.startsWith('mbforensics show ') ? '' : ` --capacity ${quoted(capacity)}`;
  return `${command}${of}${capacityOption}${db === undefined ? '' : ` --db ${quoted(db)}`}`;
}

function quoted(text: string): string {
  return /^[\w./:#@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
