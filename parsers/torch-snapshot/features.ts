/**
 * Which torch wrote a snapshot: the file does not contain the version, but its keys indicate it. Features are the keys
 * that were present; `since` is the earliest torch release that writes one, according to upstream history. Upstream:
 * torch pull requests 112266, 119404, 130964, 152707, 165490, 177717, 179276, 182407, 190575.
 */
import { bit, type KeyName } from './keys.js';

export interface SeenKeys {
  readonly form: 'dict' | 'list';
  readonly topLevel: readonly string[];
  readonly segmentBits: number;
  readonly blockBits: number;
  readonly entryBits: number;
  readonly settings: ReadonlyMap<string, string>;
  readonly frameExtras: readonly string[];
  readonly actions: readonly string[];
}

interface Feature {
  readonly id: string;
  readonly since: string;
  readonly seen: (keys: SeenKeys) => boolean;
}

const entry =
  (key: KeyName) =>
  (keys: SeenKeys): boolean =>
    (keys.entryBits & bit(key)) !== 0;
const segment =
  (key: KeyName) =>
  (keys: SeenKeys): boolean =>
    (keys.segmentBits & bit(key)) !== 0;
const block =
  (key: KeyName) =>
  (keys: SeenKeys): boolean =>
    (keys.blockBits & bit(key)) !== 0;
const top =
  (key: string) =>
  (keys: SeenKeys): boolean =>
    keys.topLevel.includes(key);
const setting =
  (key: string) =>
  (keys: SeenKeys): boolean =>
    [...keys.settings.keys()].some((name) => name === key || name.startsWith(`${key}.`)) || keys.topLevel.includes(key);

/** In the order of their appearance in torch. */
export const FEATURES: readonly Feature[] = [
  { id: 'form.list', since: '1.7', seen: (keys) => keys.form === 'list' },
  { id: 'form.dict', since: '2.0', seen: (keys) => keys.form === 'dict' },
  { id: 'block.history', since: '1.13', seen: block('history') },
  { id: 'segment.frames', since: '2.1', seen: segment('frames') },
  { id: 'segment.is_expandable', since: '2.1', seen: segment('is_expandable') },
  { id: 'segment.segment_pool_id', since: '2.1', seen: segment('segment_pool_id') },
  { id: 'block.address', since: '2.1', seen: block('address') },
  { id: 'block.requested_size', since: '2.0', seen: block('requested_size') },
  { id: 'block.frames', since: '2.1', seen: block('frames') },
  { id: 'event.frames', since: '2.0', seen: entry('frames') },
  { id: 'event.time_us', since: '2.2', seen: entry('time_us') },
  { id: 'allocator_settings', since: '2.3', seen: top('allocator_settings') },
  { id: 'external_annotations', since: '2.5', seen: top('external_annotations') },
  { id: 'event.compile_context', since: '2.8', seen: entry('compile_context') },
  {
    id: 'setting.graph_capture_record_stream_reuse',
    since: '2.9',
    seen: setting('graph_capture_record_stream_reuse'),
  },
  { id: 'event.user_metadata', since: '2.10', seen: entry('user_metadata') },
  { id: 'frame.fx', since: '2.10', seen: (keys) => keys.frameExtras.some((key) => key.startsWith('fx_')) },
  { id: 'event.pool_id', since: '2.12', seen: entry('pool_id') },
  { id: 'setting.trace_alloc_overflowed', since: '2.13', seen: setting('trace_alloc_overflowed') },
  { id: 'host_segments', since: '2.14', seen: top('host_segments') },
  { id: 'event.annotate', since: '2.14', seen: (keys) => keys.actions.includes('annotate') },
];

export function detectFeatures(keys: SeenKeys): string[] {
  return FEATURES.filter((feature) => feature.seen(keys)).map((feature) => feature.id);
}

/** The earliest torch that writes all of `features`, e.g. `2.10`. */
export function earliestTorch(features: readonly string[]): string | undefined {
  const order = (version: string): number => {
    const [major, minor] = version.split('.').map(Number);
    return (major ?? 0) * 1000 + (minor ?? 0);
  };
  return FEATURES.filter((feature) => features.includes(feature.id))
    .map((feature) => feature.since)
    .sort((a, b) => order(b) - order(a))[0];
}
