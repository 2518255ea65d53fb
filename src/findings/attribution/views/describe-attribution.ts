/** `mbforensics attribute`: whose every byte is that is live at a moment, by component, phase and more. */
import { stateTotals } from '../../../allocator/walk/allocator-state.js';
import type { BlockLabel } from '../../../attribution/blocks/labels.js';
import { layerName } from '../../../attribution/blocks/layer-name.js';
import { RULES_VERSION } from '../../../attribution/built-in-rules.js';
import { callSite } from '../../../attribution/frames/call-site.js';
import { stackModule } from '../../../attribution/frames/module-path.js';
import type { CompiledRules } from '../../../attribution/match/compile-rules.js';
import { MbfError } from '../../../model/errors.js';
import type {
  AnnotatedSource,
  AttributedDevice,
  AttributeKey,
  AttributeResult,
  ComponentBytes,
  ComponentGroup,
} from '../../../model/results/attribute.js';
import { COMPONENTS, type Component } from '../../../model/vocabulary.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { listSnapshots, type SnapshotFilter } from '../../run/names/snapshots.js';
import { RESIDENT, readLifetimes } from '../../state/live/lifetimes.js';
import { type Moment, momentText } from '../../trace/moment.js';
import { type StateAt, stateAt } from '../../trace/state-at.js';
import type { DeviceAttribution } from '../attribute-device.js';
import { attributeDevice } from '../attribute-device.js';
import { type RunOfRanks, readRunFigures } from '../blocks/run-figures.js';
import { accumulationPoint, type StackBytes } from './accumulation.js';
import { annotateSource } from './annotate-source.js';
import { liveLabels } from './live-labels.js';

export interface AttributeQuestion {
  readonly moment: Moment;
  readonly rules: CompiledRules;
  /** File the user's rules are from. */
  readonly rulesFile: string | null;
  readonly by?: AttributeKey | undefined;
  /** Only this one in `groups` and `annotated`. */
  readonly component?: Component | undefined;
  /** Groups shown; undefined = all. */
  readonly limit?: number | undefined;
  /** Part of the bytes an accumulation point covers. */
  readonly share: number;
  readonly device?: number | undefined;
  /** A source file and its content. */
  readonly annotate?: { readonly file: string; readonly text: string } | undefined;
}

/** Components below this part of the device get no accumulation point of their own. */
const LEAST_POINT_SHARE = 0.05;

/** Throws MBF1002 where no device of the snapshots has the moment. */
export async function describeAttribution(
  store: Store,
  filter: SnapshotFilter,
  question: AttributeQuestion,
): Promise<AttributeResult> {
  const devices: AttributedDevice[] = [];
  const leftOut: AttributeResult['left_out'][number][] = [];
  const runs = new Map<number, Promise<RunOfRanks>>();
  let missing: MbfError | undefined;
  let annotated: AnnotatedSource | undefined;
  for (const row of await listSnapshots(store, filter)) {
    const runId = (await store.one('replay.run_of_snapshot', { snapshot_id: row.snapshot_id }))!.run_id;
    if (!runs.has(runId)) runs.set(runId, readRunFigures(store, runId));
    const run = await runs.get(runId)!;
    for (const { device, segments, events } of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (segments === 0 && events === null) continue;
      if (question.device !== undefined && device !== question.device) continue;
      try {
        const found = await describeDevice(store, row, device, run, question);
        devices.push(found.device);
        if (found.annotated !== undefined && (annotated === undefined || matters(found.annotated) > matters(annotated)))
          annotated = found.annotated;
      } catch (error) {
        // One device of several runs out of memory; the others have no such moment, and still an answer.
        if (!(error instanceof MbfError && error.code === 'MBF1002')) throw error;
        missing = error;
        leftOut.push({ path: row.display_path, device, reason: error.message });
      }
    }
  }
  if (devices.length === 0 && missing !== undefined) throw missing;
  return {
    schema: 'mbforensics/attribute@1',
    moment: momentText(question.moment),
    rules_version: RULES_VERSION,
    rules_file: question.rulesFile,
    devices,
    left_out: leftOut,
    ...(annotated === undefined ? {} : { annotated }),
  };
}

const matters = ({ lines }: AnnotatedSource): number => lines.reduce((sum, line) => sum + line.self_bytes, 0);

async function describeDevice(
  store: Store,
  row: QueryRow<'snapshot.list'>,
  device: number,
  run: RunOfRanks,
  question: AttributeQuestion,
): Promise<{ readonly device: AttributedDevice; readonly annotated: AnnotatedSource | undefined }> {
  const snapshot = { snapshotId: row.snapshot_id, device };
  const at = await stateAt(store, row.snapshot_id, device, question.moment);
  const of = await attributeDevice(store, snapshot, question.rules, run.figuresOf(row.rank));
  const live = await readLiveBlocks(store, snapshot, of, at);
  const wanted =
    question.component === undefined
      ? live.blocks
      : live.blocks.filter((b) => b.label.component === question.component);
  const groups = question.by === undefined ? undefined : groupBy(of, wanted, question.by, live.known);
  const limit = question.limit ?? Number.POSITIVE_INFINITY;
  const rest = groups?.slice(limit) ?? [];
  return {
    device: {
      path: row.display_path,
      handle: row.handle,
      rank: row.rank,
      stage: run.stageOf(row.rank),
      device,
      seq: at.seq,
      basis: at.holds ? 'actual' : 'approximate',
      total_bytes: live.blocks.reduce((sum, { bytes }) => sum + bytes, 0),
      reserved_bytes: stateTotals(at.state).reservedBytes,
      blocks: live.blocks.length,
      components: componentRows(live.blocks, live.known),
      lifetime: live.lifetime,
      accumulation: points(of, live.blocks, question.share),
      ...(groups === undefined
        ? {}
        : {
            groups: groups.slice(0, limit),
            other_groups: {
              groups: rest.length,
              bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0),
              blocks: rest.reduce((sum, { blocks }) => sum + blocks, 0),
            },
          }),
    },
    annotated:
      question.annotate === undefined
        ? undefined
        : {
            file: question.annotate.file,
            device,
            handle: row.handle,
            ...annotateSource(question.annotate.file, question.annotate.text, stackShares(of, wanted)),
          },
  };
}

/** A live block with its label. */
export interface LabelledBlock {
  readonly bytes: number;
  /** −1 = unknown. */
  readonly requested: number;
  readonly label: BlockLabel;
  /** −1 = none. */
  readonly stackId: number;
  readonly resident: boolean;
}

/** The live blocks of a state, labelled; `known` says whether the trace tells what is resident. */
export async function readLiveBlocks(
  store: Store,
  { snapshotId, device }: { readonly snapshotId: number; readonly device: number },
  of: DeviceAttribution,
  at: StateAt,
) {
  const { blocks } = at.state;
  const { classes, basis } = await readLifetimes(store, snapshotId, device, at);
  const { labelOf, rowOf } = liveLabels(of, at.state);
  const labelled: LabelledBlock[] = [];
  for (let i = 0; i < blocks.count; i += 1)
    labelled.push({
      bytes: blocks.sizeBytes[i]!,
      requested: rowOf[i]! < 0 ? blocks.requestedBytes[i]! : of.lives.requested[rowOf[i]!]!,
      label: labelOf(i),
      stackId: rowOf[i]! < 0 ? blocks.stackId[i]! : of.lives.stackId[rowOf[i]!]!,
      resident: classes?.[i] === RESIDENT,
    });
  return { blocks: labelled, known: classes !== undefined, lifetime: basis };
}

export function componentRows(blocks: readonly LabelledBlock[], lifetimesKnown: boolean): ComponentBytes[] {
  const sums = new Map<BlockLabel, { bytes: number; requested: number; blocks: number; resident: number }>();
  for (const { label, bytes, requested, resident } of blocks) {
    const sum = sums.get(label) ?? { bytes: 0, requested: 0, blocks: 0, resident: 0 };
    sum.requested = requested < 0 || Number.isNaN(sum.requested) ? Number.NaN : sum.requested + requested;
    sum.bytes += bytes;
    sum.blocks += 1;
    if (resident) sum.resident += bytes;
    sums.set(label, sum);
  }
  return [...sums]
    .map(([label, sum]) => ({
      ...label,
      bytes: sum.bytes,
      requested_bytes: Number.isNaN(sum.requested) ? null : sum.requested,
      blocks: sum.blocks,
      resident_bytes: lifetimesKnown ? sum.resident : null,
    }))
    .sort((a, b) => b.bytes - a.bytes || COMPONENTS.indexOf(a.component) - COMPONENTS.indexOf(b.component));
}

function groupBy(
  of: DeviceAttribution,
  blocks: readonly LabelledBlock[],
  by: AttributeKey,
  lifetimesKnown: boolean,
): ComponentGroup[] {
  const ofStack = new Map<number, string>();
  const stackKey = (stackId: number): string => {
    let key = ofStack.get(stackId);
    if (key === undefined) {
      const { frames } = of.classes(stackId);
      key =
        (by === 'site' ? callSite(frames) : by === 'module' ? stackModule(frames) : layerName(frames)) ?? '(no stack)';
      ofStack.set(stackId, key);
    }
    return key;
  };
  const keyOf = ({ label, stackId }: LabelledBlock): string => {
    if (by === 'sub') return label.sub_component;
    if (by === 'phase') return label.phase;
    if (by === 'rule') return label.rules.length === 0 ? '(none)' : label.rules.join(' + ');
    return stackKey(stackId);
  };
  const groups = new Map<
    string,
    { component: Component; key: string; bytes: number; blocks: number; resident: number }
  >();
  for (const block of blocks) {
    const key = keyOf(block);
    const { component } = block.label;
    const id = `${component} ${key}`;
    const group = groups.get(id) ?? { component, key, bytes: 0, blocks: 0, resident: 0 };
    group.bytes += block.bytes;
    group.blocks += 1;
    if (block.resident) group.resident += block.bytes;
    groups.set(id, group);
  }
  return [...groups.values()]
    .sort((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1))
    .map(({ resident, ...group }) => ({ ...group, resident_bytes: lifetimesKnown ? resident : null }));
}

function points(of: DeviceAttribution, blocks: readonly LabelledBlock[], share: number) {
  const total = blocks.reduce((sum, { bytes }) => sum + bytes, 0);
  const large = COMPONENTS.map((component) => ({
    component,
    own: blocks.filter(({ label }) => label.component === component),
  }))
    .map(({ component, own }) => ({ component, own, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) }))
    .filter(({ bytes }) => bytes > 0 && bytes >= LEAST_POINT_SHARE * total)
    .sort((a, b) => b.bytes - a.bytes);
  return [
    accumulationPoint(stackShares(of, blocks), null, share),
    ...large.map(({ component, own }) => accumulationPoint(stackShares(of, own), component, share)),
  ];
}

function stackShares(of: DeviceAttribution, blocks: readonly LabelledBlock[]): (StackBytes & { blocks: number })[] {
  const sums = new Map<number, { bytes: number; blocks: number }>();
  for (const { stackId, bytes } of blocks) {
    const sum = sums.get(stackId) ?? { bytes: 0, blocks: 0 };
    sum.bytes += bytes;
    sum.blocks += 1;
    sums.set(stackId, sum);
  }
  return [...sums].map(([stackId, sum]) => ({ frames: of.classes(stackId).frames, ...sum }));
}
