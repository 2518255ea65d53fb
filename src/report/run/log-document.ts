/** The run at a glance: how it ended, what it was, its memory and its failures. */

import { groupBy } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';
import {
  type LogIncident,
  type LogResult,
  type LogRun,
  type RunFacts,
  VERSION_NAMES,
} from '../../model/results/log.js';
import * as d from '../document/document.js';
import { excerpt } from '../document/values.js';
import { endingWord } from '../launch-text.js';
import { countOr, droppedTexts, plain, rankWords } from '../text-pieces.js';
import { textMaker } from '../words/fill-pieces.js';
import { launchSection } from './launch-table.js';
import { doubtfulParts, memoryGroupTable } from './memory-document.js';

const MOST_FAILURES = 5;
const MOST_RATES = 3;
const MOST_COMMITS = 3;
const MOST_PHASES = 12;
/** Characters of a log line. */
const MOST_TEXT = 140;
/** In lists of ranks. */
const MOST_RANGES = 4;

export function logDocument({ schema, runs, failed_sources: failed }: LogResult): d.Document {
  const [run] = runs;
  return d.document(
    schema,
    run === undefined ? '' : title(run),
    ...(run === undefined ? [] : runParts(run)),
    ...failed.map(({ error }) => d.note(`not read: ${error.text} (${error.code})`)),
  );
}

const textOf = textMaker('log', 'screen');

const title = (run: LogRun): d.Text =>
  d.joined(
    [
      d.t`run ${d.as('run', d.code(run.name))}`,
      d.counted(run.files, 'file', 'files', 'files'),
      run.ranks_seen > 0 && d.t`${d.counted(run.ranks_seen, 'rank', 'ranks', 'ranks_seen')} seen`,
      run.hosts.length > 0 && d.counted(run.hosts.length, 'host'),
      d.counted(run.attempts.length, 'launch', 'launches'),
    ],
    ' · ',
  );

function runParts(run: LogRun): d.MaybePart[] {
  const groups = fold(run);
  const memory = memoryParts(run);
  const entries: readonly (readonly [name: string, value: d.Text])[] = [
    ...factTexts(run),
    ['ended', run.attempts.length === 1 ? launch(run) : ''],
    ['iterations', iterations(run)],
    ...pace(run),
    ['phases', phases(run)],
    ['failures', groups.length === 0 ? 'none found' : ''],
  ];
  const unknown = entries.flatMap(([name, value]) => (EXPECTED.has(name) && !isKnown(value) ? [name] : []));
  if (memory.length === 0) unknown.push('memory');
  return [
    ...firstFailure(run),
    d.facts([
      ...entries.map(([name, value]) => isKnown(value) && d.fact(name, value)),
      unknown.length > 0 && d.fact('not_printed', unknown.join(', ')),
    ]),
    run.attempts.length > 1 && launchSection(run),
    ...memory,
    groups.length > 0 && failures(run, groups),
  ];
}

const factTexts = (run: RunFacts): (readonly [name: string, value: d.Text])[] => [
  ['versions', versions(run)],
  ['device', device(run)],
  ['layout', layout(run)],
  ['allocator', allocator(run)],
];

const isKnown = (value: d.Text): boolean => d.piecesOf(value).some((piece) => piece !== '');

/** What is known of a run. */
export const logFacts = (run: RunFacts): (d.Fact | false | null)[] =>
  factTexts(run).map(
    ([name, value]) => isKnown(value) && (name !== 'allocator' || run.allocator_conf !== null) && d.fact(name, value),
  );

/** Named where the logs do not have them. */
const EXPECTED: ReadonlySet<string> = new Set(['versions', 'device', 'layout', 'iterations']);

const printed = (texts: readonly (d.Text | null)[]): d.Text => d.joined(texts, ' · ');

const versions = ({ versions, commits }: RunFacts): d.Text =>
  printed([
    ...VERSION_NAMES.map((name) =>
      versions[name] === null ? null : d.t`${name} ${d.as(name, d.code(versions[name]))}`,
    ),
    ...Object.entries(commits)
      .slice(0, MOST_COMMITS)
      .map(
        ([what, commit]) =>
          d.t`commit${what === 'run' ? '' : ` of ${what}`} ${d.as(`commit_${what}`, d.code(commit.slice(0, 12)))}`,
      ),
  ]);

const device = ({ gpu }: RunFacts): d.Text =>
  printed([
    gpu.name === null ? null : d.as('name', d.code(gpu.name)),
    gpu.total_bytes === null ? null : d.as('total_bytes', d.bytes(gpu.total_bytes)),
    gpu.count === null ? null : d.counted(gpu.count, 'GPU', 'GPUs', 'count'),
  ]);

function layout({ world_size: world, parallel: { tp, pp, vpp, cp, ep, etp, dp } }: RunFacts): d.Text {
  const size = (name: string, value: number | null): d.Text | null =>
    value === null ? null : d.t`${name} ${d.as(name.toLowerCase(), d.count(value))}`;
  return printed([
    size('world', world),
    size('TP', tp),
    size('PP', pp),
    vpp === 1 ? null : size('VPP', vpp),
    size('CP', cp),
    size('DP', dp),
    ...(ep === null || ep === 1 ? [] : [size('EP', ep), size('ETP', etp)]),
  ]);
}

const allocator = ({ allocator_conf: conf, origins }: RunFacts): d.Text =>
  textOf(conf === null ? 'no_allocator' : 'allocator', { conf: conf || null, origin: origins['allocator_conf'] });

/** Of a run with one launch; its place where that is not the first failure's. */
function launch({ attempts: [only], files, first_failure: first }: LogRun): d.Text {
  if (only === undefined || (only.time_us === null && only.ending === 'unknown')) return '';
  const { time_us: start, ending, ending_file: file, ending_line: line, last_phase: phase } = only;
  const isFirst = first !== null && first.line === line && (file === null || first.file === file);
  return printed([
    ending === 'unknown' && phase !== null
      ? `last phase ${plain(phase)}`
      : d.t`${endingWord(ending)}${line === null || isFirst ? '' : d.t` (${files > 1 && file !== null ? d.t`${d.code(file)} ` : ''}line ${line})`}`,
    start === null ? null : d.t`started ${{ value: start, unit: 'clock' }}`,
  ]);
}

const iterations = ({ iterations: all }: LogRun): d.Text =>
  all.count === 0 ? '' : textOf('iterations', all, { falls: all.monotonic === false });

/** Step times and throughput, where known. */
function pace({ iterations: all, rates, derived_step: derived }: LogRun): (readonly [string, d.Text])[] {
  const { steady } = all;
  const printedRates = (kind: 'rate' | 'time'): d.Text[] =>
    rates
      .filter((rate) => rate.kind === kind)
      .slice(0, MOST_RATES)
      .map(
        ({ name, unit, median, count: n }) =>
          d.t`${name} ${{ value: median, unit: 'number' }}${unit === null ? '' : ` ${unit}`}${n > 1 ? d.t` (median of ${n})` : ''}`,
      );
  const times = printedRates('time');
  const median = d.as('median_step_ms', d.ms(steady.median_step_ms));
  if (steady.timed > 0)
    times.unshift(
      d.t`median ${median}, p95 ${d.as('p95_step_ms', d.ms(steady.p95_step_ms))}, max ${d.as('max_step_ms', d.ms(steady.max_step_ms))} without the first line of each launch`,
    );
  else if (all.timed > 0) times.unshift(d.t`median ${d.ms(all.median_step_ms)}, of first lines of launches only`);
  else if (derived !== null)
    times.unshift(d.t`about ${d.as('derived_step_ms', d.ms(derived.ms))}, from ${derived.from}`);
  const tflops = steady.median_tflops_per_gpu ?? all.median_tflops_per_gpu;
  const figure = d.as('median_tflops_per_gpu', { value: tflops, unit: 'number' });
  const rated = [...(tflops === null ? [] : [d.t`median ${figure} TFLOP/s/GPU`]), ...printedRates('rate')];
  return [
    ['step_time', printed(times)],
    ['throughput', printed(rated)],
  ];
}

function phases(run: LogRun): string {
  const last = run.attempts.at(-1)?.attempt;
  return run.phases
    .filter(({ attempt, phase }) => attempt === last && phase !== 'unknown')
    .slice(0, MOST_PHASES)
    .map(({ phase, count }) => `${plain(phase)}${count > 1 ? ` ×${count}` : ''}`)
    .join(' → ');
}

function memoryParts(run: LogRun): d.MaybePart[] {
  const content = d.parts([memoryGroupTable(run.memory_groups), ...doubtfulParts(run.memory_doubtful)]);
  const iterations = run.memory_groups.flatMap(({ iteration }) => iteration ?? []);
  const after = iterations.length === 0 ? '' : d.t`, the last after iteration ${maxOf(iterations)}`;
  const heading = d.t`Memory: ${d.counted(run.memory_records, 'reading', 'readings', 'memory_records')}${after}`;
  return content.length === 0 ? [] : [d.section(heading, {}, ...content)];
}

// ---- failures

function firstFailure({ first_failure: first }: LogRun): d.MaybePart[] {
  if (first === null) return [];
  const { also_failed: also, victims, secondary } = first;
  return [
    d.section(
      textOf('failure', first, { kind: plain(first.kind) }),
      { key: 'first_failure', fields: { role: first.role } },
      d.paragraph(textOf('place', first)),
      also.length > 0 && d.paragraph(`also failed: ${rankWords(also, MOST_RANGES)}`),
      victims.length > 0 && d.paragraph(`waited for it: ${rankWords(victims, MOST_RANGES)}`),
      secondary > 0 && d.paragraph(d.counted(secondary, 'secondary failure', undefined, 'secondary')),
    ),
  ];
}

/** Failure lines of one launch and kind. */
interface Folded {
  readonly first: LogIncident;
  readonly incidents: readonly LogIncident[];
}

/** In the order of the first of each; the group of the first failure leads. */
function fold(run: LogRun): Folded[] {
  const lead = run.first_failure === null ? undefined : run.incidents[run.first_failure.incident];
  const ordered = lead === undefined ? run.incidents : [lead, ...run.incidents.filter((other) => other !== lead)];
  const groups = groupBy(ordered, ({ attempt, kind }) => `${attempt ?? ''} ${kind}`);
  return [...groups.values()].map((incidents) => ({ first: incidents[0]!, incidents }));
}

function failures(run: LogRun, groups: readonly Folded[]): d.MaybePart {
  const copies = run.incidents.filter(({ copy_of }) => copy_of !== null).length;
  const shown = groups.slice(0, MOST_FAILURES);
  const has = (field: 'rank' | 'iteration' | 'requested_bytes' | 'free_bytes'): boolean =>
    shown.some(({ incidents }) => incidents.some((incident) => incident[field] !== null));
  const more = groups.slice(MOST_FAILURES).map(({ first, incidents }) => `${first.kind} ×${countOr(incidents.length)}`);
  return d.section(
    d.t`Failures: ${d.counted(run.incidents.length - copies, 'line')}${copies === 0 ? '' : d.t` (${d.count(copies)} more repeated in a second file)`}`,
    {},
    d.table(
      shown,
      [
        d.column('kind', ({ first }) => first.kind),
        d.counts('lines', ({ incidents }) => incidents.length),
        has('rank') &&
          d.column('ranks', ({ incidents }) => {
            const ranks = incidents.map(({ rank }) => rank);
            return ranks.every((rank) => rank === null) ? null : rankWords(ranks, MOST_RANGES).replace(/^ranks? /, '');
          }),
        run.attempts.length > 1 && d.counts('launch', ({ first }) => first.attempt),
        has('iteration') && d.counts('after_iteration', ({ first }) => first.iteration),
        has('requested_bytes') && d.column('requested_bytes', ({ first }) => first.requested_bytes),
        has('free_bytes') && d.column('free_bytes', ({ first }) => first.free_bytes),
      ],
      {
        key: 'failures',
        under: ({ first }) => [excerpt(first.text.trim(), MOST_TEXT)],
        notes: [more.length > 0 && `${more.join(', ')}: --json=full lists all`, ...droppedTexts(run.incidents_dropped)],
      },
    ),
  );
}
