/** The run at a glance: how it ended, what it was, its memory and its failures. */
import { groupBy } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';
import { type LogIncident, type LogResult, type LogRun, VERSION_NAMES } from '../../model/results/log.js';
import {
  as,
  bytes,
  code,
  column,
  count,
  counted,
  counts,
  type Document,
  document,
  fact,
  facts,
  joined,
  type MaybePart,
  ms,
  note,
  paragraph,
  parts,
  piecesOf,
  section,
  type Text,
  t,
  table,
} from '../document/document.js';
import { excerpt } from '../document/values.js';
import { ENDINGS } from '../launch-text.js';
import { countOr, plain, rankWords } from '../text-pieces.js';
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

export function logDocument({ schema, runs, failed_sources: failed }: LogResult): Document {
  const [run] = runs;
  return document(
    schema,
    run === undefined ? '' : title(run),
    ...(run === undefined ? [] : runParts(run)),
    ...failed.map(({ error }) => note(`not read: ${error.text} (${error.code})`)),
  );
}

const title = (run: LogRun): Text =>
  joined(
    [
      t`run ${as('run', code(run.name))}`,
      counted(run.files, 'file', 'files', 'files'),
      run.ranks_seen > 0 && t`${counted(run.ranks_seen, 'rank', 'ranks', 'ranks_seen')} seen`,
      run.hosts.length > 0 && counted(run.hosts.length, 'host'),
      counted(run.attempts.length, 'launch', 'launches'),
    ],
    ' · ',
  );

function runParts(run: LogRun): MaybePart[] {
  const groups = fold(run);
  const memory = memoryParts(run);
  const entries: readonly (readonly [name: string, value: Text])[] = [
    ['versions', versions(run)],
    ['device', device(run)],
    ['layout', layout(run)],
    ['allocator', allocator(run)],
    ['ended', run.attempts.length === 1 ? launch(run) : ''],
    ['iterations', iterations(run)],
    ...pace(run),
    ['phases', phases(run)],
    ['failures', groups.length === 0 ? 'none found' : ''],
  ];
  const isKnown = (value: Text): boolean => piecesOf(value).some((piece) => piece !== '');
  const unknown = entries.flatMap(([name, value]) => (EXPECTED.has(name) && !isKnown(value) ? [name] : []));
  if (memory.length === 0) unknown.push('memory');
  return [
    ...firstFailure(run),
    facts([
      ...entries.map(([name, value]) => isKnown(value) && fact(name, value)),
      unknown.length > 0 && fact('not_printed', unknown.join(', ')),
    ]),
    run.attempts.length > 1 && launchSection(run),
    ...memory,
    groups.length > 0 && failures(run, groups),
  ];
}

/** Named where the logs do not have them. */
const EXPECTED: ReadonlySet<string> = new Set(['versions', 'device', 'layout', 'iterations']);

const printed = (texts: readonly (Text | null)[]): Text => joined(texts, ' · ');

const versions = ({ versions, commits }: LogRun): Text =>
  printed([
    ...VERSION_NAMES.map((name) => (versions[name] === null ? null : t`${name} ${as(name, code(versions[name]))}`)),
    ...Object.entries(commits)
      .slice(0, MOST_COMMITS)
      .map(
        ([what, commit]) =>
          t`commit${what === 'run' ? '' : ` of ${what}`} ${as(`commit_${what}`, code(commit.slice(0, 12)))}`,
      ),
  ]);

const device = ({ gpu }: LogRun): Text =>
  printed([
    gpu.name === null ? null : as('name', code(gpu.name)),
    gpu.total_bytes === null ? null : as('total_bytes', bytes(gpu.total_bytes)),
    gpu.count === null ? null : counted(gpu.count, 'GPU', 'GPUs', 'count'),
  ]);

function layout({ world_size: world, parallel: { tp, pp, vpp, cp, ep, etp, dp } }: LogRun): Text {
  const size = (name: string, value: number | null): Text | null =>
    value === null ? null : t`${name} ${as(name.toLowerCase(), count(value))}`;
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

function allocator({ allocator_conf: conf, origins }: LogRun): Text {
  if (conf === null) return 'unknown: no variable and no snapshot has its settings';
  const origin = origins['allocator_conf'];
  return t`${conf === '' ? 'no settings' : as('settings', code(conf))}${origin === undefined ? '' : ` (${origin})`}`;
}

/** Of a run with one launch; its place where that is not the first failure's. */
function launch({ attempts: [only], files, first_failure: first }: LogRun): Text {
  if (only === undefined || (only.time_us === null && only.ending === 'unknown')) return '';
  const { time_us: start, ending, ending_file: file, ending_line: line, last_phase: phase } = only;
  const isFirst = first !== null && first.line === line && (file === null || first.file === file);
  return printed([
    ending === 'unknown' && phase !== null
      ? `last phase ${plain(phase)}`
      : t`${ENDINGS[ending]}${line === null || isFirst ? '' : t` (${files > 1 && file !== null ? t`${code(file)} ` : ''}line ${line})`}`,
    start === null ? null : t`started ${{ value: start, unit: 'clock' }}`,
  ]);
}

function iterations({ iterations: all }: LogRun): Text {
  if (all.count === 0) return '';
  const { copies, first, last, target, skipped_iterations: skipped, nan_iterations: nan } = all;
  return t`${counted(all.count, 'line', 'lines', 'count')}${copies > 0 ? t` (${count(copies)} more in second files)` : ''}, ${as('first', count(first))} to ${as('last', count(last))}${target === null ? '' : t` of ${as('target', count(target))}`}${all.monotonic === false ? ', not rising throughout' : ''}${(skipped ?? 0) > 0 ? t` · ${as('skipped', count(skipped))} skipped` : ''}${(nan ?? 0) > 0 ? t` · ${as('nan', count(nan))} NaN` : ''}`;
}

/** Step times and throughput, where known. */
function pace({ iterations: all, rates, derived_step: derived }: LogRun): (readonly [string, Text])[] {
  const { steady } = all;
  const printedRates = (kind: 'rate' | 'time'): Text[] =>
    rates
      .filter((rate) => rate.kind === kind)
      .slice(0, MOST_RATES)
      .map(
        ({ name, unit, median, count: n }) =>
          t`${name} ${{ value: median, unit: 'number' }}${unit === null ? '' : ` ${unit}`}${n > 1 ? t` (median of ${n})` : ''}`,
      );
  const times = printedRates('time');
  const median = as('median_step_ms', ms(steady.median_step_ms));
  if (steady.timed > 0)
    times.unshift(
      t`median ${median}, p95 ${as('p95_step_ms', ms(steady.p95_step_ms))}, max ${as('max_step_ms', ms(steady.max_step_ms))} without the first line of each launch`,
    );
  else if (all.timed > 0) times.unshift(t`median ${ms(all.median_step_ms)}, of first lines of launches only`);
  else if (derived !== null) times.unshift(t`about ${as('derived_step_ms', ms(derived.ms))}, from ${derived.from}`);
  const tflops = steady.median_tflops_per_gpu ?? all.median_tflops_per_gpu;
  const figure = as('median_tflops_per_gpu', { value: tflops, unit: 'number' });
  const rated = [...(tflops === null ? [] : [t`median ${figure} TFLOP/s/GPU`]), ...printedRates('rate')];
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

function memoryParts(run: LogRun): MaybePart[] {
  const content = parts([memoryGroupTable(run.memory_groups), ...doubtfulParts(run.memory_doubtful)]);
  const iterations = run.memory_groups.flatMap(({ iteration }) => iteration ?? []);
  const after = iterations.length === 0 ? '' : t`, the last after iteration ${maxOf(iterations)}`;
  const heading = t`Memory: ${counted(run.memory_records, 'reading', 'readings', 'memory_records')}${after}`;
  return content.length === 0 ? [] : [section(heading, {}, ...content)];
}

// ---- failures

function firstFailure({ first_failure: first }: LogRun): MaybePart[] {
  if (first === null) return [];
  const { rank, device, host, time, also_failed: also, victims, secondary } = first;
  return [
    section(
      t`First failure: ${as('kind', plain(first.kind))}${rank === null ? '' : t`, rank ${as('rank', count(rank))}`}${device === null ? '' : t`, device ${as('device', count(device))}`}${host === null ? '' : t` on ${as('host', host)}`}${time === null ? '' : ` at ${time}`}`,
      { key: 'first_failure', fields: { role: first.role } },
      paragraph(t`${as('file', code(first.file))} line ${as('line', count(first.line))}: ${as('why', first.why)}`),
      also.length > 0 && paragraph(`also failed: ${rankWords(also, MOST_RANGES)}`),
      victims.length > 0 && paragraph(`waited for it: ${rankWords(victims, MOST_RANGES)}`),
      secondary > 0 && paragraph(counted(secondary, 'secondary failure', undefined, 'secondary')),
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

function failures(run: LogRun, groups: readonly Folded[]): MaybePart {
  const copies = run.incidents.filter(({ copy_of }) => copy_of !== null).length;
  const shown = groups.slice(0, MOST_FAILURES);
  const has = (field: 'rank' | 'iteration' | 'requested_bytes' | 'free_bytes'): boolean =>
    shown.some(({ incidents }) => incidents.some((incident) => incident[field] !== null));
  const more = groups.slice(MOST_FAILURES).map(({ first, incidents }) => `${first.kind} ×${countOr(incidents.length)}`);
  return section(
    t`Failures: ${counted(run.incidents.length - copies, 'line')}${copies === 0 ? '' : t` (${count(copies)} more repeated in a second file)`}`,
    {},
    table(
      shown,
      [
        column('kind', ({ first }) => first.kind),
        counts('lines', ({ incidents }) => incidents.length),
        has('rank') &&
          column('ranks', ({ incidents }) => {
            const ranks = incidents.map(({ rank }) => rank);
            return ranks.every((rank) => rank === null) ? null : rankWords(ranks, MOST_RANGES).replace(/^ranks? /, '');
          }),
        run.attempts.length > 1 && counts('launch', ({ first }) => first.attempt),
        has('iteration') && counts('after_iteration', ({ first }) => first.iteration),
        has('requested_bytes') && column('requested_bytes', ({ first }) => first.requested_bytes),
        has('free_bytes') && column('free_bytes', ({ first }) => first.free_bytes),
      ],
      {
        key: 'failures',
        under: ({ first }) => [excerpt(first.text.trim(), MOST_TEXT)],
        notes: [more.length > 0 && `${more.join(', ')}: --json=full lists all`],
      },
    ),
  );
}
