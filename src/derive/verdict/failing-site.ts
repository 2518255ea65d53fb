/** Where a request failed, what was being done there, and what its size means. */

import { callSite } from '../../attribution/frames/call-site.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { Place } from '../../model/place.js';
import { known, named } from '../../model/statement.js';
import type { FailingFrame } from '../../model/tables.js';
import { isSharded } from '../settings/sharded.js';
import { asNumber } from '../settings/values.js';
import type { View } from '../settings/view.js';
import {
  activityOfText,
  type CodeFrame,
  failingActivity,
  isOfWeights,
  LARGE_SHARE,
} from '../stacks/failing-activity.js';
import type { EvidenceLog, OomFacts } from './facts.js';

export interface FailingSite {
  /** Of `src/knowledge/activities.yaml`; null where nothing shows it. */
  readonly activity: string | null;
  /** `function file:line` of the innermost frame that is not torch's; null where only code or words are known. */
  readonly site: string | null;
  /** The innermost Python frame's function and file: `flash_attn_func …/flash_attn_interface.py`. */
  readonly innermost: string;
  /** Its line of code, where the traceback prints it. */
  readonly code: string | null;
  /** The message is a warning: the program went on. */
  readonly isWarning?: boolean;
  /** The frames are of this other rank, which failed of the same. */
  readonly ofRank?: number | null;
  readonly place: Place;
}

export function readFrames(json: string | null): CodeFrame[] {
  if (json === null) return [];
  return codeFrames(JSON.parse(json) as readonly FailingFrame[]);
}

export function codeFrames(frames: readonly FailingFrame[]): CodeFrame[] {
  return frames.map(({ function: name, file, ...rest }) => ({ ...rest, name, filename: file }));
}

/** `all` innermost first; `text` of the message. Null where neither shows a place or an activity. */
export function failingSite(all: readonly CodeFrame[], place: Place, text = ''): FailingSite | null {
  const frames = all.filter(({ filename }) => filename !== '');
  const site = callSite(frames) ?? null;
  const activity = activityOfText(text) ?? failingActivity(all);
  if (site === null && activity === null) return null;
  const siteFrame = site === null ? all[0] : frames.find((frame) => callSite([frame]) === site);
  const python = frames.find(({ filename }) => /\.pyw?$/.test(filename));
  return {
    activity,
    site,
    innermost: python === undefined ? '' : `${python.name} ${python.filename}`,
    code: siteFrame?.source ?? null,
    isWarning: /^\w*Warning: /.test(text),
    place,
  };
}

const LEAST_COPY_BYTES = threshold('failing_site.least_copy_bytes');
const COPY_DOUBT = threshold('failing_site.copy_doubt');
const RANK_DOUBT = threshold('failing_site.rank_doubt');

interface Neighbour {
  readonly facts: Pick<OomFacts, 'rank' | 'device' | 'allocated_bytes'>;
  readonly site: FailingSite | null;
}

export interface SizeContext {
  /** Every failure of the run, this one included. */
  readonly failures: readonly Neighbour[];
  /** Of the run's settings; null where none was read. */
  readonly view: View | null;
}

/** Adds one statement: where it failed, while doing what, and what the size means where figures show it. */
export function addFailingSite(
  evidence: EvidenceLog,
  facts: OomFacts,
  site: FailingSite | null,
  context: SizeContext | null,
): void {
  const size = sizeOf(facts, site, context);
  if (site === null && size === null) return;
  // A trace names its site with the request.
  if (site !== null && site.activity === null && size === null && facts.site !== null) return;
  evidence.add('failing_site', site?.place ?? facts.place, {
    numbers: known({ request_bytes: facts.request_bytes, ...size?.numbers }),
    names: named({
      site: site?.site,
      activity: site?.activity,
      innermost: site?.innermost,
      code: site?.code,
      size: size?.kind,
      outcome: site?.isWarning === true ? 'warned' : undefined,
      of_rank: site?.ofRank?.toString(),
    }),
    about: 'site',
  });
}

interface Size {
  readonly kind: 'beyond_device' | 'equal_ranks' | 'like_live' | 'tokens' | 'vocabulary' | 'one_tensor';
  readonly numbers: Readonly<Record<string, number>>;
}

function sizeOf(facts: OomFacts, site: FailingSite | null, context: SizeContext | null): Size | null {
  const { request_bytes: request, total_bytes: total, allocated_bytes: live } = facts;
  const activity = site?.activity ?? null;
  if (request === null) return null;
  if (total !== null && request > total) return { kind: 'beyond_device', numbers: {} };
  if (isOfWeights(activity) && live !== null && context !== null) {
    const ranks = equalRanks(live, activity, context);
    if (ranks > 1) return { kind: 'equal_ranks', numbers: { ranks, live_bytes: live } };
  }
  if (
    live !== null &&
    request >= LEAST_COPY_BYTES &&
    Math.abs(request - live) <= COPY_DOUBT * live + (facts.allocated_precision_bytes ?? 0)
  )
    return { kind: 'like_live', numbers: { live_bytes: live } };
  if (activity === 'logits_loss' && context?.view != null) {
    const shape = shapeOfLogits(request, context.view);
    if (shape !== null) return shape;
  }
  return total !== null && request >= LARGE_SHARE * total ? { kind: 'one_tensor', numbers: {} } : null;
}

/** Ranks, this one included, that failed while doing the same with as much allocated; 0 where the weights are split. */
function equalRanks(live: number, activity: string, { failures, view }: SizeContext): number {
  if (view !== null && isSharded(view)) return 0;
  const places = new Set(
    failures
      .filter(
        ({ facts, site }) =>
          site?.activity === activity &&
          facts.allocated_bytes !== null &&
          Math.abs(facts.allocated_bytes - live) <= RANK_DOUBT * live,
      )
      .map(({ facts }) => `${facts.rank} ${facts.device}`),
  );
  return places.size;
}

const ELEMENT_BYTES = [4, 2] as const;
const TOKEN_DOUBT = threshold('failing_site.token_doubt');
const LEAST_VOCABULARY = threshold('failing_site.least_vocabulary');
const MOST_VOCABULARY = threshold('failing_site.most_vocabulary');

/** Logits are tokens × vocabulary × bytes: with one of the two known, the other follows. */
function shapeOfLogits(bytes: number, view: View): Size | null {
  const number = (key: string): number | null => asNumber(view.setting(key).value);
  const [sequence, batch] = [number('seq_length'), number('micro_batch_size')];
  const tokens = sequence === null ? null : (sequence * (batch ?? 1)) / (number('context_parallel_size') ?? 1);
  const printed = number('padded_vocab_size') ?? number('vocab_size');
  const vocabulary = printed === null ? null : printed / (number('tensor_model_parallel_size') ?? 1);
  if (vocabulary !== null) {
    const fits = (size: number): boolean =>
      tokens !== null && Math.abs(bytes / (vocabulary * size) - tokens) <= TOKEN_DOUBT * tokens;
    const element = ELEMENT_BYTES.find(fits) ?? 4;
    return {
      kind: 'tokens',
      numbers: { tokens: Math.round(bytes / (vocabulary * element)), vocabulary, element_bytes: element },
    };
  }
  if (tokens === null || batch === null) return null;
  const implied = Math.round(bytes / (tokens * 4));
  if (implied < LEAST_VOCABULARY || implied > MOST_VOCABULARY) return null;
  return { kind: 'vocabulary', numbers: { tokens, vocabulary: implied, element_bytes: 4 } };
}
