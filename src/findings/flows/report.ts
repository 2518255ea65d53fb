/** `mbforensics report`: the documents of other verbs about one run, and the course of its devices, for one page. */

import { builtInRules } from '../../attribution/built-in-rules.js';
import { listSnapshots } from '../../derive/run/names/snapshots.js';
import { chooseDevice } from '../../derive/state/choose-snapshot.js';
import type { Moment } from '../../derive/trace/moment.js';
import { allFailures } from '../../model/all-failures.js';
import { MbfError } from '../../model/errors.js';
import { groupBy } from '../../model/group-by.js';
import type { PageLevel } from '../../model/picture/page-data.js';
import type { DiagnoseResult, ShowResult } from '../../model/results/common.js';
import type {
  ReportDevice,
  ReportIterations,
  ReportMoment,
  ReportRank,
  ReportResult,
} from '../../model/results/report.js';
import type { Store } from '../../store/store.js';
import { describeAttribution } from '../attribution/views/describe-attribution.js';
import { MOST_BLOCKS } from '../picture/choose-blocks.js';
import { type DrawnDevice, drawDevice } from '../picture/draw-device.js';
import { describeState } from '../state/describe-state.js';
import { describePeaks } from '../state/live/peaks.js';
import { describeTimelines } from '../timeline/timeline.js';
import { describeShow, type ShowOptions } from '../verdict/show.js';
import { reportFacts } from './report-facts.js';

export interface ReportOptions {
  readonly store: Store;
  readonly runId: number;
  readonly run: string;
  /** Only this snapshot. */
  readonly handle: string | undefined;
  readonly diagnosis: DiagnoseResult;
  readonly operand: string;
  readonly program: string;
  /** Devices drawn at most. */
  readonly devices: number;
  /** Put before the names of devices, where two runs share a page. */
  readonly prefix?: string;
  readonly show: Pick<ShowOptions, 'readLines' | 'rules'>;
}

export interface RunReport {
  readonly report: ReportResult;
  /** The course of the first device, for an SVG. */
  readonly overview: PageLevel | null;
}

/** Verdicts whose evidence is on the page. */
const MOST_VERDICTS = 3;
/** Rows of a query behind a piece of evidence. */
const EVIDENCE_ROWS = 20;
/** Rows of the tables of a moment. */
const TABLE_ROWS = 25;

export async function describeReport(options: ReportOptions): Promise<RunReport> {
  const { store, runId, run, handle, diagnosis } = options;
  const chosen = await chooseDevices(options);
  const devices: ReportDevice[] = [];
  let overview: PageLevel | null = null;
  for (const [i, { row, device }] of chosen.slice(0, options.devices).entries()) {
    const drawn = await drawDevice(store, {
      snapshotId: row.snapshot_id,
      device,
      handle: row.handle,
      title: `${options.prefix ?? ''}${row.rank === null ? 'rank unknown' : `rank ${row.rank}`}, device ${device}`,
      deviceTotalBytes: totalOf(diagnosis, row.rank, device),
      mostBlocks: i === 0 ? MOST_BLOCKS : MOST_BLOCKS / 3,
    });
    if (!drawn.page.isDump) overview ??= drawn.overview;
    devices.push(await withTables(store, row, device, drawn));
  }
  return {
    report: {
      subject: handle === undefined ? 'run' : 'snapshot',
      title: run,
      program: options.program,
      operand: options.operand,
      diagnosis,
      facts: [await reportFacts(store, runId, run)],
      evidence: await evidenceOf(options),
      devices,
      other_devices: chosen.slice(options.devices).map(({ row, device }) => ({ handle: row.handle, device })),
      ranks: await ranksOf(store, run, diagnosis),
      iterations: await iterationsOf(store, runId),
      ...{ diff: null, bisection: null, history: null, lake: null, is_redacted: false },
    },
    overview,
  };
}

type SnapshotRow = Awaited<ReturnType<typeof listSnapshots>>[number];
type Chosen = { readonly row: SnapshotRow; readonly device: number };

/** Those that ran out, in the order of the verdicts; then those with most live memory. */
async function chooseDevices({ store, runId, handle, diagnosis }: ReportOptions): Promise<Chosen[]> {
  const ranked: (Chosen & { readonly verdict: number; readonly bytes: number })[] = [];
  const listed = await listSnapshots(store, handle === undefined ? { runId } : { handle });
  const devicesOf = await store.allOf(
    'snapshot.devices',
    listed.map(({ snapshot_id }) => ({ snapshot_id })),
  );
  const verdictsAt = groupBy(
    diagnosis.verdicts.flatMap(({ device, evidence }, number) => {
      const paths = evidence.flatMap(({ lines }) => (lines !== undefined && 'entry' in lines ? lines.path : []));
      return [...new Set(paths)].map((path) => ({ path, device, number }));
    }),
    ({ path }) => path,
  );
  for (const [i, row] of listed.entries())
    for (const device of devicesOf[i]!) {
      if (device.segments === 0 && device.events === null) continue;
      const verdict = verdictsAt
        .get(row.display_path)
        ?.find((one) => one.device === null || one.device === device.device);
      ranked.push({
        ...{ row, device: device.device },
        verdict: verdict?.number ?? Number.POSITIVE_INFINITY,
        bytes: device.peak_anchored_bytes ?? device.active_bytes,
      });
    }
  return ranked.sort((a, b) => (a.verdict === b.verdict ? b.bytes - a.bytes : a.verdict - b.verdict));
}

/** The total of the device where a message, or `--capacity`, gives it. */
function totalOf({ verdicts }: DiagnoseResult, rank: number | null, device: number): number | null {
  const failure = allFailures(verdicts).find((one) => (one.device ?? device) === device && (one.rank ?? rank) === rank);
  const total = failure?.verdict.accounting_total;
  return total?.kind === 'total_printed' || total?.kind === 'total_given' || total?.kind === 'total'
    ? total.bytes
    : null;
}

async function withTables(
  store: Store,
  { snapshot_id: snapshotId, handle, rank, display_path: path }: SnapshotRow,
  device: number,
  { page, bytes }: DrawnDevice,
): Promise<ReportDevice> {
  const timeline = await describeTimelines(
    store,
    { handle },
    { columns: 100, by: 'index', device, zoom: { from: undefined, to: undefined } },
  );
  const moments: ReportMoment[] = [];
  const hasOom = page.marks.some(({ kind }) => kind === 'oom');
  for (const name of [...(hasOom ? (['oom'] as const) : []), page.isDump ? 'end' : 'peak'] as const) {
    const moment: Moment = { kind: name };
    const chosen = await chooseDevice(store, { handle }, moment, device);
    const state = await describeState(store, chosen, moment, { limit: TABLE_ROWS });
    const attribution = await describeAttribution(
      store,
      { handle },
      { moment, rules: builtInRules(), rulesFile: null, share: 0.5, device },
    );
    const peaks = await describePeaks(store, { handle }, { sites: TABLE_ROWS, stacks: 0 }, { moment, device });
    const peak = peaks.snapshots[0]?.devices[0];
    const attributed = attribution.devices[0];
    if (peak === undefined || attributed === undefined)
      throw new MbfError('MBF1002', `snapshot ${snapshotId} has no moment ${name}`);
    moments.push({ name, state, attribution: attributed, peak });
  }
  return { page, bytes, rank, path, timeline: timeline.snapshots[0]!.devices[0]!, moments };
}

async function evidenceOf({ store, runId, diagnosis, show }: ReportOptions): Promise<ShowResult[]> {
  const shown: ShowResult[] = [];
  for (const [i, verdict] of diagnosis.verdicts.slice(0, MOST_VERDICTS).entries())
    for (const { id } of verdict.evidence)
      shown.push(
        await describeShow(store, runId, diagnosis, { handle: id, verdict: i + 1, limit: EVIDENCE_ROWS, ...show }),
      );
  return shown;
}

async function ranksOf(store: Store, run: string, { ranks }: DiagnoseResult): Promise<ReportRank[]> {
  const stages = new Map(ranks?.stages.flatMap(({ pp, ranks: members }) => members.map((rank) => [rank, pp])));
  const rows = await store.all('picture.ranks', { run });
  if (rows.length < 2) return [];
  return rows.map(({ rank, allocated_bytes, reserved_bytes, ooms }) => ({
    rank,
    stage: stages.get(rank) ?? null,
    peak_allocated_bytes: allocated_bytes,
    peak_reserved_bytes: reserved_bytes,
    ooms,
  }));
}

/** Of the last launch, and of the rank and file that printed most of them. */
async function iterationsOf(store: Store, runId: number): Promise<ReportIterations | null> {
  const all = await store.all('log.iterations', { run_id: runId, newest: null });
  const last = all.at(-1)?.attempt;
  const groups = groupBy(
    all.filter(({ attempt }) => attempt === last),
    ({ rank, file }) => `${rank} ${file}`,
  );
  const [rows] = [...groups.values()].sort((a, b) => b.length - a.length);
  if (rows === undefined || last === undefined) return null;
  const rank = rows[0]!.rank;
  const memory = new Map(
    (await store.all('picture.iteration_memory', { run_id: runId, attempt: last, rank })).map((row) => [
      row.iteration,
      row,
    ]),
  );
  const ofMemory = (pick: 'allocated_bytes' | 'peak_allocated_bytes' | 'peak_reserved_bytes') =>
    rows.map(({ iteration }) => memory.get(iteration)?.[pick] ?? null);
  return {
    rank,
    iteration: rows.map(({ iteration }) => iteration),
    step_ms: rows.map((row) => row.step_ms),
    loss: rows.map((row) => row.loss),
    allocated_bytes: ofMemory('allocated_bytes'),
    peak_allocated_bytes: ofMemory('peak_allocated_bytes'),
    peak_reserved_bytes: ofMemory('peak_reserved_bytes'),
  };
}
