/** `mbforensics attribute`: whose every byte is that is live at a moment, by component, phase and more. */

import { layerName } from '../../../attribution/blocks/layer-name.js';
import { RULES_VERSION } from '../../../attribution/built-in-rules.js';
import { callSite, type Frame } from '../../../attribution/frames/call-site.js';
import { stackModule } from '../../../attribution/frames/module-path.js';
import type { CompiledRules } from '../../../attribution/match/compile-rules.js';
import { readStages, type StageOf } from '../../../derive/attribution/blocks/run-figures.js';
import { useLabels } from '../../../derive/attribution/use-labels.js';
import { listSnapshots, type SnapshotFilter } from '../../../derive/run/names/snapshots.js';
import { NO_FRAMES, NO_STACK, readStacks } from '../../../derive/stacks/read-stacks.js';
import { deviceHistory } from '../../../derive/trace/device-history.js';
import { type Moment, momentText } from '../../../derive/trace/moment.js';
import { seqOfMoment } from '../../../derive/trace/state-at.js';
import { threshold } from '../../../knowledge/thresholds/threshold.js';
import { MbfError } from '../../../model/errors.js';
import type { Phase } from '../../../model/log-rows.js';
import type {
  AnnotatedSource,
  AttributedDevice,
  AttributeKey,
  AttributeResult,
  ComponentBytes,
  ComponentGroup,
  LabelBasis,
} from '../../../model/results/attribute.js';
import { COMPONENTS, type Component, type Confidence } from '../../../model/vocabulary.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { lifetimeBasis } from '../../state/live/lifetimes.js';
import { accumulationPoint } from './accumulation.js';
import { annotateSource, type StackShare } from './annotate-source.js';

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

const LEAST_POINT_SHARE = threshold('attribution.least_point_share');

/** Throws MBF1002 where no device of the snapshots has the moment. */
export async function describeAttribution(
  store: Store,
  filter: SnapshotFilter,
  question: AttributeQuestion,
): Promise<AttributeResult> {
  const devices: AttributedDevice[] = [];
  const leftOut: AttributeResult['left_out'][number][] = [];
  const runs = new Map<number, StageOf>();
  let missing: MbfError | undefined;
  let annotated: AnnotatedSource | undefined;
  for (const row of await listSnapshots(store, filter)) {
    const runId = (await store.one('replay.run_of_snapshot', { snapshot_id: row.snapshot_id }))!.run_id;
    let stage: number | null = null;
    if (row.rank !== null) {
      const stageOf = runs.get(runId) ?? (await readStages(store, runId));
      runs.set(runId, stageOf);
      stage = stageOf(row.rank);
    }
    for (const { device, segments, events } of await store.all('snapshot.devices', { snapshot_id: row.snapshot_id })) {
      if (segments === 0 && events === null) continue;
      if (question.device !== undefined && device !== question.device) continue;
      try {
        const found = await describeDevice(store, row, device, stage, question);
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
  stage: number | null,
  question: AttributeQuestion,
): Promise<{ readonly device: AttributedDevice; readonly annotated: AnnotatedSource | undefined }> {
  const id = { snapshot_id: row.snapshot_id, device };
  const history = await deviceHistory(store, row.snapshot_id, device);
  const seq = await seqOfMoment(store, history, question.moment);
  const at = { ...id, at_seq: seq };
  await useLabels(store, row.snapshot_id, device, question.rules);
  const components = (await store.all('attribution.components', at)).map(componentRow).sort(byBytes);
  const stacks = await readLiveStacks(store, at);
  const totals = (await store.one('state.totals', at))!;
  const { component: only, by } = question;
  const wanted = only === undefined ? stacks : stacks.filter(({ component }) => component === only);
  const groups =
    by === undefined
      ? undefined
      : sumGroups(
          by === 'sub' || by === 'phase' || by === 'rule'
            ? components
                .filter(({ component }) => only === undefined || component === only)
                .map((part) => ({ ...part, key: labelKey(part, by) }))
            : wanted.map((part) => ({ ...part, key: stackKey(part, by) })),
        );
  const limit = question.limit ?? Number.POSITIVE_INFINITY;
  const rest = groups?.slice(limit) ?? [];
  return {
    device: {
      path: row.display_path,
      handle: row.handle,
      rank: row.rank,
      stage,
      device,
      seq: seq < 0 ? null : seq,
      basis: history.holds ? 'actual' : 'approximate',
      total_bytes: totals.active_bytes,
      reserved_bytes: totals.reserved_bytes,
      blocks: totals.blocks,
      components,
      lifetime: await lifetimeBasis(store, row.snapshot_id, device),
      accumulation: points(stacks, question.share),
      ...(groups === undefined
        ? {}
        : {
            groups: groups.slice(0, limit),
            other_groups: {
              groups: rest.length,
              bytes: sumBytes(rest),
              blocks: rest.reduce((sum, one) => sum + one.blocks, 0),
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
            ...annotateSource(question.annotate.file, question.annotate.text, wanted),
          },
  };
}

function componentRow(row: QueryRow<'attribution.components'>): ComponentBytes {
  const { sub_component, bytes, requested_bytes, blocks, resident_bytes } = row;
  return {
    component: row.component as Component,
    sub_component,
    phase: row.phase as Phase,
    by: row.known_by as LabelBasis,
    rules: row.rules === '' ? [] : row.rules.split(' '),
    confidence: row.confidence as Confidence,
    ...{ bytes, requested_bytes, blocks, resident_bytes },
  };
}

/** Live blocks of one component with one stack, in order of their addresses. */
interface LiveStack extends StackShare {
  readonly component: Component;
  readonly resident_bytes: number | null;
}

async function readLiveStacks(
  store: Store,
  at: { readonly snapshot_id: number; readonly device: number; readonly at_seq: number },
): Promise<LiveStack[]> {
  const rows = await store.all('attribution.stacks', at);
  const frames = await readStacks(
    store,
    rows.flatMap(({ stack_id }) => stack_id ?? []),
  );
  return rows.map(({ stack_id, component, ...row }) => ({
    ...row,
    component: component as Component,
    frames: frames.get(stack_id ?? -1) ?? [],
  }));
}

const sumBytes = (rows: readonly { readonly bytes: number }[]): number =>
  rows.reduce((sum, { bytes }) => sum + bytes, 0);

type Part = Pick<ComponentBytes, 'component' | 'bytes'>;
const byBytes = (a: Part, b: Part): number =>
  b.bytes - a.bytes || COMPONENTS.indexOf(a.component) - COMPONENTS.indexOf(b.component);

function labelKey({ sub_component, phase, rules }: ComponentBytes, by: 'sub' | 'phase' | 'rule'): string {
  if (by === 'sub') return sub_component;
  if (by === 'phase') return phase;
  return rules.length === 0 ? '(none)' : rules.join(' + ');
}

function stackKey(
  { frames, component }: { readonly frames: readonly Frame[]; readonly component: Component },
  by: 'site' | 'module' | 'layer',
): string {
  const key = by === 'site' ? callSite(frames) : by === 'module' ? stackModule(frames) : layerName(frames);
  return key ?? (component === 'before_recording' ? NO_STACK : NO_FRAMES);
}

function sumGroups(parts: readonly ComponentGroup[]): ComponentGroup[] {
  const groups = new Map<string, ComponentGroup>();
  for (const { component, key, bytes, blocks, resident_bytes } of parts) {
    const id = `${component} ${key}`;
    const sum = groups.get(id) ?? {
      component,
      key,
      bytes: 0,
      blocks: 0,
      resident_bytes: resident_bytes === null ? null : 0,
    };
    groups.set(id, {
      ...sum,
      bytes: sum.bytes + bytes,
      blocks: sum.blocks + blocks,
      resident_bytes: sum.resident_bytes === null ? null : sum.resident_bytes + (resident_bytes ?? 0),
    });
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1));
}

function points(stacks: readonly LiveStack[], share: number) {
  const total = sumBytes(stacks);
  const large = COMPONENTS.map((component) => {
    const own = stacks.filter((stack) => stack.component === component);
    return { component, own, bytes: sumBytes(own) };
  })
    .filter(({ bytes }) => bytes > 0 && bytes >= LEAST_POINT_SHARE * total)
    .sort((a, b) => b.bytes - a.bytes);
  return [
    accumulationPoint(stacks, null, share),
    ...large.map(({ component, own }) => accumulationPoint(own, component, share)),
  ];
}
