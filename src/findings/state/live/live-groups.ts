/** The live set at a moment, grouped by any key a reader may ask for. */
import { callSite, type Frame, frameKind } from '../../../attribution/frames/call-site.js';
import { stackModule } from '../../../attribution/frames/module-path.js';
import { NO_FRAMES, readStacks } from '../../../derive/stacks/read-stacks.js';
import { FREED_THERE } from '../../../derive/state/live/live-sites.js';
import type { StateKey } from '../../../derive/trace/state-at.js';
import { poolWords } from '../../../model/pool-words.js';
import type { GroupKey, KeyGroup } from '../../../model/results/peak.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import { readStreamNumbers } from '../../run/names/stream-numbers.js';
import { readAnnotations, stageTimeline } from '../../stacks/annotation-stages.js';
import { placeOf } from '../state-view.js';

export const BEFORE_RECORDING = '(before the recording)';
export const NO_STAGE = '(no stage open)';
export const NO_ANNOTATIONS = '(no annotations recorded)';
export const NOT_COMPILED = '(in no compiled region)';
export const NO_COMPILE_CONTEXT = '(no compile context recorded)';
export const NO_METADATA = '(no metadata set)';
export const NO_METADATA_RECORDED = '(no metadata recorded)';
export const NO_STREAM = '(stream unknown)';

export type StackRow = QueryRow<'peak.stacks'>;

interface Named {
  readonly key: string;
  readonly remainder: boolean;
  readonly stackId?: number | null;
}

/** Live blocks with one key and one lifetime. */
interface Part extends Named {
  readonly lifetime: string | null;
  readonly bytes: number;
  readonly count: number;
}

const named = (key: string): Named => ({ key, remainder: false });
const remainder = (key: string): Named => ({ key, remainder: true });

/**
 * Groups what is live by a key, in descending order of bytes. Every live block is in one group; what has no such key is
 * in groups marked `remainder`. `depth`: frames that make a key of `site` and `module`, the site and this many − 1
 * callers. `stacks`: the rows of `peak.stacks`, of which several keys are made.
 */
export async function groupLiveSet(
  store: Store,
  key: StateKey,
  by: GroupKey,
  depth = 1,
  stacks?: readonly StackRow[],
): Promise<KeyGroup[]> {
  const groups = new Map<
    string,
    { name: Named; bytes: number; count: number; lifetimes: Map<string | null, number> }
  >();
  for (const part of await partsBy(store, key, by, depth, stacks)) {
    const id = `${part.remainder ? 1 : 0}${part.stackId ?? ''} ${part.key}`;
    const group = groups.get(id) ?? { name: part, bytes: 0, count: 0, lifetimes: new Map<string | null, number>() };
    groups.set(id, group);
    group.bytes += part.bytes;
    group.count += part.count;
    group.lifetimes.set(part.lifetime, (group.lifetimes.get(part.lifetime) ?? 0) + part.bytes);
  }
  return [...groups.values()]
    .sort((a, b) => b.bytes - a.bytes || (a.name.key < b.name.key ? -1 : a.name.key > b.name.key ? 1 : 0))
    .map(({ name, bytes, count, lifetimes }) => {
      const lived = (lifetime: string): number | null => (lifetimes.has(null) ? null : (lifetimes.get(lifetime) ?? 0));
      return {
        key: name.key,
        remainder: name.remainder,
        bytes,
        count,
        resident_bytes: lived('resident'),
        transient_bytes: lived('transient'),
        unknown_bytes: lived('unknown'),
        ...(by === 'stack' ? { stack_id: name.stackId ?? null } : {}),
      };
    });
}

async function partsBy(
  store: Store,
  key: StateKey,
  by: GroupKey,
  depth: number,
  stacks: readonly StackRow[] | undefined,
): Promise<Part[]> {
  switch (by) {
    case 'site':
    case 'stack':
    case 'module': {
      const rows = stacks ?? (await store.all('peak.stacks', { ...key }));
      const frames = await readStacks(
        store,
        rows.map((row) => row.stack_id ?? -1),
      );
      return rows.map((row) => ({ ...row, ...stackName(by, row, frames.get(row.stack_id ?? -1) ?? [], depth) }));
    }
    case 'stage': {
      const annotations = await readAnnotations(store, key.snapshot_id);
      const { times, stages } = stageTimeline(annotations, key.device);
      const missing = remainder(annotations.length === 0 ? NO_ANNOTATIONS : NO_STAGE);
      const rows = await store.all('peak.stages', {
        ...key,
        times: times.length < 2 ? null : times.slice(1).join(','),
      });
      return rows.map((row) => {
        const stage = row.is_timed && annotations.length > 0 ? stages[row.changes]! : null;
        return {
          ...row,
          ...(row.before_trace ? remainder(BEFORE_RECORDING) : stage === null ? missing : named(stage)),
        };
      });
    }
    case 'compile':
    case 'metadata': {
      const [unset, unrecorded] =
        by === 'compile' ? [NOT_COMPILED, NO_COMPILE_CONTEXT] : [NO_METADATA, NO_METADATA_RECORDED];
      return (await store.all('peak.texts', { ...key, kind: by })).map(({ text, ...row }) => {
        const isUnset = text === '' || (by === 'compile' && text === 'N/A');
        const name = text === null ? remainder(unrecorded) : isUnset ? remainder(unset) : named(text);
        return { ...row, ...(row.before_trace ? remainder(BEFORE_RECORDING) : name) };
      });
    }
    case 'stream': {
      const numbers = await readStreamNumbers(store, key.snapshot_id);
      return (await store.all('peak.places', { ...key })).map(({ stream, ...row }) => ({
        ...row,
        ...(stream === null ? remainder(NO_STREAM) : named(streamText(Number(stream), numbers))),
      }));
    }
    case 'pool':
      return (await store.all('peak.places', { ...key })).map((row) => {
        const { pool, segment_type } = placeOf(row, new Map());
        return { ...row, ...named(`${poolWords(pool)} ${segment_type}${row.is_expandable ? ', expandable' : ''}`) };
      });
  }
}

function stackName(by: GroupKey, row: StackRow, frames: readonly Frame[], depth: number): Named {
  const own = by === 'stack' ? { stackId: row.stack_id } : {};
  const name = by === 'module' ? stackModule(frames, depth) : callSite(frames, depth);
  // A block from before the recording has an empty stack; one allocated on a thread without Python frames has one too.
  if (name === undefined) return { ...remainder(row.before_trace ? BEFORE_RECORDING : NO_FRAMES), ...own };
  const native = frames.every((frame) => frameKind(frame) === 'noise' || frameKind(frame) === 'native');
  // The free's stack only substitutes for an unrecorded allocation; mixing both would blame the freeing line. C++
  // frames alone name an operator, not a line or a module.
  const freed = row.origin === 'free_event' ? FREED_THERE : '';
  return { key: `${name}${freed}`, remainder: native && by !== 'stack', ...own };
}

function streamText(stream: number, numbers: ReadonlyMap<number, number>): string {
  if (stream === 0) return 'stream 0 (default)';
  return `stream ${numbers.get(stream) ?? '?'} (0x${stream.toString(16)})`;
}
