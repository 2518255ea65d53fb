/** Adds the replayed counterfactual to a verdict as evidence, and changes its steps; `verdict` has the confidence. */

import { maxOf, minOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import type { WhatIfSetting } from '../../model/results/replay.js';
import { type Figures, statement } from '../../model/statement.js';
import type { AppliedRule, Counterfactual, Evidence, EvidenceKind, Step, Verdict } from '../../model/verdict.js';
import { stepsOf } from './describe-answers.js';
import { isExpandable } from './hint.js';

const ON = 'expandable_segments:True';

/** Adds evidence about the replay; the numbers of the existing evidence stay. `place`: file and entry of the OOM. */
export function applyCounterfactual(verdict: Verdict, { replay, rows }: Counterfactual, place: Place): Verdict {
  const replayed = rows.filter((row) => row.setting !== 'recorded');
  const evidence: Evidence[] = [...verdict.evidence];
  const add = (kind: EvidenceKind, figures: Partial<Figures>): void =>
    void evidence.push({ id: `E${evidence.length + 1}`, ...statement(kind, figures), place, about: 'replay' });
  const base = { ...verdict, evidence, replay, what_if: rows };
  const concluded = (rule: AppliedRule, steps: readonly Step[] = verdict.steps): Verdict => ({
    ...base,
    rules: [...verdict.rules, statement(rule)],
    steps,
  });
  const { status, reason, address_matches, address_total, repeats_oom } = replay;
  add('replay', {
    numbers: { address_matches, address_total },
    names: { status, reason, oom: repeats_oom ? 'repeated' : 'not_repeated' },
  });
  if (status === 'refused') return base;
  if (!repeats_oom) return concluded('oom_not_repeated');
  const figures = figuresOf(replayed);
  add('other_segments', figures);
  const served = replayed.length > 0 && replayed.every((row) => row.outcome === 'fits');
  const robust = replayed.every((row) => row.robust);
  const isOn = replayed.some((row) => row.setting === ON);
  if (verdict.cause === 'fragmentation' && isOn) {
    if (served && robust)
      return concluded(
        'served_in_replay',
        verdict.steps.map((step) => (isExpandable(step) ? { ...step, status: 'proven', ...figures } : step)),
      );
    if (replayed.some((row) => row.outcome === 'fits')) return concluded('replay_depends');
    const pinning = stepsOf([{ kind: 'find_pinning', ...figures }]);
    return concluded('refuted_by_replay', [...pinning, ...verdict.steps.filter((step) => !isExpandable(step))]);
  }
  if (verdict.detail === 'whole_step' && served) return concluded('served_so_far');
  if (verdict.cause === 'capacity' && isOn && served && robust) {
    const expandable = stepsOf([{ kind: 'expandable_replayed', ...figures }]);
    return concluded('served_against_it', [...expandable, ...verdict.steps.slice(1)]);
  }
  return verdict.cause === 'capacity' && !served ? concluded('fails_in_replay_too') : base;
}

/** Least and most over the replays with one setting: from the best and the worst start. */
function figuresOf(rows: readonly WhatIfSetting[]): Figures {
  const [first] = rows;
  if (first === undefined) return { numbers: { replays: 0 }, names: {} };
  const range = (name: string, values: readonly (number | null)[]): Record<string, number> => {
    const bytes = values.filter((value) => value !== null);
    return bytes.length === 0 ? {} : { [`least_${name}_bytes`]: minOf(bytes), [`most_${name}_bytes`]: maxOf(bytes) };
  };
  return {
    numbers: {
      replays: rows.length,
      ...range(
        'peak_reserved',
        rows.flatMap((row) => [row.peak_reserved_least_bytes, row.peak_reserved_most_bytes]),
      ),
      ...range(
        'headroom',
        rows.map((row) => row.headroom_bytes),
      ),
      ...range(
        'short',
        rows.map((row) => row.short_bytes),
      ),
    },
    names: {
      setting: first.setting,
      outcome: new Set(rows.map((row) => row.outcome)).size > 1 ? 'depends' : first.outcome,
      robustness: rows.every((row) => row.robust) ? 'robust' : 'not_robust',
    },
  };
}
