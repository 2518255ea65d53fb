/** Which fixes act on what was being allocated: `src/knowledge/activities.yaml`. */

import { LARGE_SHARE } from '../../derive/stacks/failing-activity.js';
import { type ActivityData, activityData } from '../../knowledge/activities.js';
import type { Evidence } from '../../model/verdict.js';
import type { FixSpec } from './fix.js';
import { idleBytes, type Situation } from './situation.js';

/** Ranks of fixes; those that act on what failed have the numbers below, in the order to try them. */
const NEUTRAL = 1000;
const LAST = 2000;

type ListedFix = Pick<FixSpec, 'id' | 'causes' | 'answers' | 'acts_on' | 'site'>;

export function isLargeRequest(situation: Situation): boolean {
  const bytes = situation.verdict.request?.bytes ?? null;
  const sizes = [situation.deviceBytes, idleBytes(situation)];
  return bytes !== null && sizes.some((size) => size !== null && bytes >= LARGE_SHARE * size);
}

export function failingSiteOf({ verdict }: Pick<Situation, 'verdict'>): Evidence | undefined {
  return verdict.evidence.find(({ kind }) => kind === 'failing_site');
}

export function failingActivityOf(situation: Pick<Situation, 'verdict'>): string | null {
  return failingSiteOf(situation)?.names['activity'] ?? null;
}

export class FixOrder {
  private readonly activity: ActivityData | undefined;
  private readonly verdict: Situation['verdict'];
  /** Where memory is in pieces or outside PyTorch, fixes of that cause come before those of the activity. */
  private readonly decides: boolean;

  constructor(situation: Situation) {
    this.verdict = situation.verdict;
    const id = failingActivityOf(situation);
    this.activity = id === null ? undefined : activityData().find((one) => one.id === id);
    this.decides = situation.verdict.cause === 'capacity' || situation.verdict.cause === 'undecided';
  }

  /** False for what cannot help: it acts on what does not exist yet, or is for another activity. */
  allows(fix: ListedFix): boolean {
    if (fix.site === 'activity' && this.activity?.first?.includes(fix.id) !== true) return false;
    return !names(this.activity?.no_use, fix);
  }

  rank(fix: ListedFix): number {
    if (fix.site === 'size') return -1;
    if (!this.decides && this.answersCause(fix)) return -2;
    const place = this.activity?.first?.indexOf(fix.id) ?? -1;
    if (place >= 0) return place;
    return names(this.activity?.last, fix) ? LAST : NEUTRAL;
  }

  acts(fix: ListedFix): boolean {
    return this.decides && this.isFirst(fix);
  }

  /** One of the first for what was being allocated, whatever the cause. */
  isFirst(fix: ListedFix): boolean {
    return this.rank(fix) < NEUTRAL && (this.decides || !this.answersCause(fix));
  }

  cannotTouch(fix: ListedFix): boolean {
    return this.decides && this.rank(fix) === LAST;
  }

  private answersCause({ causes, answers }: ListedFix): boolean {
    const { cause, steps } = this.verdict;
    return causes.includes(cause) || steps.some(({ kind }) => answers?.includes(kind) === true);
  }
}

function names(list: readonly string[] | undefined, { id, acts_on: target }: ListedFix): boolean {
  return list !== undefined && (list.includes(id) || (target !== undefined && list.includes(target)));
}
