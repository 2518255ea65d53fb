/** `mbforensics allocations`: every block's life as a row. */

import { frameText, shownFrames } from '../../attribution/frames/call-site.js';
import { readStacks, siteName } from '../../derive/stacks/read-stacks.js';
import type { ChosenDevice } from '../../derive/state/choose-snapshot.js';
import { deviceHistory } from '../../derive/trace/device-history.js';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { seqOfMoment } from '../../derive/trace/state-at.js';
import { pick } from '../../model/pick.js';
import type { AllocationOrder, AllocationRow, AllocationsResult } from '../../model/results/allocation.js';
import type { Store } from '../../store/store.js';
import { blockLabels } from '../run/names/block-labels.js';
import { readStreamNumbers } from '../run/names/stream-numbers.js';
import { readAnnotations, stageAt, stageTimeline } from '../stacks/annotation-stages.js';

export interface AllocationQuestion {
  /** Only what is live then. */
  readonly moment?: Moment | undefined;
  readonly address?: number | undefined;
  /** With `address`: only this generation of it. */
  readonly version?: number | undefined;
  readonly minBytes?: number | undefined;
  /** Text that some frame of the stack must have. */
  readonly site?: string | undefined;
  readonly sort: AllocationOrder;
  /** 0 = all. */
  readonly limit: number;
}

const ALL = 0x7fffffff;
/** Torch's word for "in no compiled region". */
const NO_CONTEXT = 'N/A';

export async function describeAllocations(
  store: Store,
  chosen: ChosenDevice,
  question: AllocationQuestion,
): Promise<AllocationsResult> {
  const { snapshotId, device } = chosen;
  const history = await deviceHistory(store, snapshotId, device);
  const { moment, version } = question;
  const seq = moment === undefined ? null : await seqOfMoment(store, history, moment);
  const filter = {
    snapshot_id: snapshotId,
    device,
    at_seq: seq,
    address: question.address === undefined ? null : BigInt(question.address),
    min_bytes: question.minBytes ?? null,
    site: question.site ?? null,
  };
  const totals = await store.one('allocation.totals', filter);
  const count = question.limit === 0 || version !== undefined ? ALL : question.limit;
  const rows = await store.all('allocation.list', { ...filter, sort: question.sort, count });
  const labels = await blockLabels(
    store,
    snapshotId,
    rows.map((row) => ({ address: Number(row.address), allocSeq: row.alloc_seq })),
  );
  const stacks = await readStacks(
    store,
    rows.map((row) => row.stack_id ?? -1),
  );
  const streams = await readStreamNumbers(store, snapshotId);
  const { pools } = history.trace;
  const stages = stageTimeline(await readAnnotations(store, snapshotId), device);
  const described = rows.map(
    (row, i): AllocationRow => ({
      label: labels[i]!,
      address: Number(row.address).toString(16),
      origin: row.origin === 'traced' ? 'traced' : 'before_trace',
      ...pick(row, ['alloc_seq', 'free_requested_seq', 'free_completed_seq']),
      ...pick(row, ['requested_bytes', 'actual_bytes', 'uncertain_bytes']),
      ...pick(row, ['alloc_us', 'free_us', 'lifetime_us', 'lifetime_entries']),
      stream: row.stream === null ? null : (streams.get(Number(row.stream)) ?? null),
      pool: row.pool === null ? null : pools.storedPair(row.pool),
      site: siteName(row.site, row.stack_id !== null),
      frames: shownFrames(stacks.get(row.stack_id ?? -1) ?? []).map(frameText),
      stack_origin: row.stack_origin,
      stage: row.alloc_us === null ? null : stageAt(stages, row.alloc_us),
      compile_context: row.compile_context === NO_CONTEXT ? null : row.compile_context,
      user_metadata: row.user_metadata === '' ? null : row.user_metadata,
    }),
  );
  const allocations = version === undefined ? described : described.filter((row) => row.label.endsWith(`_${version}`));
  const shown = version === undefined ? totals : undefined;
  const sum = (pick: (row: AllocationRow) => number | null): number =>
    allocations.reduce((total, row) => total + (pick(row) ?? 0), 0);
  return {
    schema: 'mbforensics/allocations@1',
    snapshot: chosen.handle,
    path: chosen.path,
    rank: chosen.rank,
    device,
    moment: moment === undefined ? null : momentText(moment),
    seq: seq === null || seq < 0 ? null : seq,
    sort: question.sort,
    count: shown?.count ?? allocations.length,
    actual_bytes: shown?.actual_bytes ?? sum((row) => row.actual_bytes),
    requested_bytes: shown?.requested_bytes ?? sum((row) => row.requested_bytes),
    basis: history.holds ? 'actual' : 'approximate',
    allocations,
  };
}
