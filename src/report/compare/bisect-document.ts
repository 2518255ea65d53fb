/** What a bisection came to: the culprit, how sure that is, what it changed in memory, and how it was found. */
import { maxOf, minOf } from '../../model/lists.js';
import type { BisectReportResult, BisectStep } from '../../model/results/bisect.js';
import type { CompareCheck, Judgement } from '../../model/results/compare.js';
import * as d from '../document/document.js';
import { counted, signedBytes } from '../text-pieces.js';
import { checkFigure, isOdd, shortCommit } from './check-words.js';
import * as difference from './difference.js';

const SIDES: difference.Sides = ['before', 'after'];
const SITES_SHOWN = 6;
const SETTINGS_SHOWN = 12;

export function bisectDocument(result: BisectReportResult, { unicode } = { unicode: true }): d.Document {
  const { schema, state, confidence, confidence_reason: why, criterion, golden, culprit, notes } = result;
  const judged = culprit === null ? '' : d.t`; the culprit by ${d.counted(culprit.judged_runs, 'run')}`;
  return {
    ...d.document(
      schema,
      d.t`bisect: ${d.mark(stateWords(result), state === 'found' ? 'good' : 'unsure')}, confidence ${confidence}`,
      culprit !== null && d.paragraph(commitText(culprit), { style: 'lead', key: 'culprit' }),
      d.paragraph(d.t`judged on ${criterion} against golden ${d.code(golden)}${judged}`, { key: 'judged' }),
      why !== '' && d.paragraph(difference.longText(why), { key: 'confidence_reason' }),
      chartOf(result, unicode ? '█' : '#'),
      leftSection(result),
      d.section('Settings that changed inside the range', {}, settingItems(result)),
      d.section(
        changeWords(result) ?? 'What changed',
        {},
        difference.checksTable(result.checks.filter(isShown), { sides: SIDES }),
        difference.componentsSection(result.components, SIDES),
        difference.grownSites(result.sites, SIDES, SITES_SHOWN),
        difference.changedSection('Settings', 'config', result.config, SIDES),
        difference.changedSection('Environment', 'env', result.env, SIDES),
        difference.suspectsSection(result),
      ),
      stepsSection(result),
      difference.notesSection(notes),
    ),
    isAscii: !unicode,
    fields: { state, confidence, criterion, golden },
  };
}

/** `found`, `one of 3 commits`, `not finished: 4 commits left`. */
function stateWords({ state, suspects_left: left }: BisectReportResult): string {
  const commits = counted(left.length, 'commit');
  if (state === 'found') return 'found';
  if (state === 'suspects') return `one of ${commits}`;
  return left.length === 0 ? 'not finished' : `not finished: ${commits} left`;
}

const commitText = ({ sha, subject }: { readonly sha: string; readonly subject: string }): d.Text =>
  d.t`${d.code(shortCommit(sha))} ${subject}`;

const leftSection = ({ suspects_left: left, state }: BisectReportResult): d.MaybePart =>
  d.section(
    state === 'suspects' ? 'One of these is the first bad commit' : 'Not judged yet',
    {},
    d.table(
      left,
      [
        d.names('commit', ({ sha }) => shortCommit(sha)),
        d.column('subject', ({ subject }) => subject),
        left.some(({ why_skipped: reason }) => reason !== null) &&
          d.column('why_skipped', ({ why_skipped: reason }) => reason ?? '', { title: 'skipped' }),
      ],
      { key: 'suspects_left', fields: ({ sha }) => ({ sha }) },
    ),
  );

/** `recompute_granularity full → not set in 1f3c9aa subject: more memory …`. */
const settingItems = ({ settings, criterion, suspects }: BisectReportResult): d.MaybePart =>
  d.items(
    settings.slice(0, SETTINGS_SHOWN).map(({ key, from, to, commit, after, before, way, is_contract }) => {
      const where =
        commit === null
          ? d.t`between ${d.code(shortCommit(after))} and ${d.code(shortCommit(before))}`
          : d.t`in ${commitText(commit)}`;
      const isOfCause = suspects.some((suspect) => suspect.key === key && suspect.cause !== undefined);
      const more = criterion === 'throughput' ? 'a longer step' : 'more memory';
      const worse = isOfCause ? 'bears on the cause of the failure' : `${more} without any fault of the code`;
      const effects = { up: worse, down: 'may hide what is hunted', unknown: 'moves what is judged' };
      const effect = is_contract ? 'runs on both sides are not comparable' : effects[way];
      return d.t`${d.code(key)} ${from ?? 'not set'} → ${to ?? 'not set'} ${where}: ${effect}`;
    }),
    { key: 'settings' },
  );

const BAR = 30;

/**
 * The judged commits in the order of the history, each with its figure as a bar. Bars begin below the least value, by
 * the range of all: a growth of some per cent is to be seen.
 */
function chartOf({ steps, culprit }: BisectReportResult, block: string): d.Drawing | null {
  const judged = steps.flatMap((step) => (step.place === null ? [] : [{ ...step, place: step.place }]));
  if (judged.length < 2) return null;
  const name = figureName(judged);
  // A run may lack the figure of the others, and be judged by another one.
  const figureOf = ({ figure }: BisectStep) => (figure?.name === name ? figure : null);
  const values = judged.flatMap((step) => figureOf(step)?.value ?? []);
  const [low, high] = [minOf(values), maxOf(values)];
  const base = Math.max(0, low - Math.max(high - low, 0.02 * high));
  const first = minOf(judged.map(({ place }) => place));
  const lines = judged
    .toSorted((a, b) => a.place - b.place)
    .map((step) => {
      const figure = figureOf(step);
      const length = figure === null ? 0 : Math.max(1, Math.round((BAR * (figure.value - base)) / (high - base)));
      const cells = [
        `+${step.place - first}`.padStart(6),
        shortCommit(step.sha).padEnd(7),
        step.judgement.padEnd(4),
        block.repeat(length).padEnd(BAR),
        figure === null ? '' : checkFigure(figure.value, figure.unit),
      ];
      return `${cells.join('  ')}${step.sha === culprit?.sha ? '  first bad' : ''}`.trimEnd();
    });
  const of = name === undefined ? '' : `: ${name.replaceAll('_', ' ')}`;
  return {
    type: 'drawing',
    lines: () => [`judged commits, oldest first, by their distance to the first${of}`, ...lines],
  };
}

/** That of the judged commits. */
export const figureName = (steps: readonly BisectStep[]): string | undefined =>
  steps.find(({ figure }) => figure !== null)?.figure?.name;

/** What the figures measure: `from d34db33 to abc1234: +3.30 GiB at the peak`; null without figures. */
function changeWords({ before, after, total_delta_bytes: bytes }: BisectReportResult): string | null {
  if (before === null && after === null) return null;
  const [from, to] = [before, after].map((side) => (side === null ? 'unknown' : shortCommit(side.sha)));
  return `from ${from} to ${to}${bytes === null ? '' : `: ${signedBytes(bytes)} at the peak`}`;
}

/** Unchanged components are not shown. */
const isShown = (check: CompareCheck): boolean =>
  isOdd(check) && check.status !== 'skipped' && (check.status !== 'undecided' || !check.name.includes(':'));

const TONES: Readonly<Record<Judgement, d.Tone>> = { good: 'good', bad: 'bad', skip: 'unsure' };
export const judgementMark = (judgement: Judgement) => d.mark(judgement, TONES[judgement]);

/** What each commit was judged to be, and why. */
function stepsSection({ steps }: BisectReportResult): d.MaybePart {
  // The folder of the bisection, which has one for each commit.
  const folder = /(?:^|\/)(mbforensics\/bisect\/[^/]+)\//.exec(steps[0]?.bundle ?? '')?.[1];
  return d.section(
    'Commits judged, in this order',
    {},
    stepTable(steps) ?? d.note('no commit was judged'),
    folder !== undefined && d.note(d.t`output and judgement of each: ${d.code(`…/${folder}/COMMIT`)}`),
  );
}

const stepTable = (steps: readonly BisectStep[]): d.MaybePart =>
  d.table(
    steps,
    [
      d.column('judgement', ({ judgement }) => judgementMark(judgement)),
      d.counts('runs', ({ runs }) => runs),
      figureName(steps) !== undefined &&
        d.column('figure', ({ figure }) => (figure === null ? '' : difference.checkCell(figure.value, figure.unit)), {
          align: 'right',
        }),
      d.column('commit', commitText),
    ],
    {
      key: 'steps',
      under: ({ reason }) => [difference.longText(reason)],
      fields: ({ sha, subject, reason, bundle }) => ({ sha, subject, reason, bundle }),
    },
  );
