/** The sentence of each action, and how savings and costs are known. */
import type { AdviceAction, AdviceFix, SavingBy } from '../../model/results/advise.js';
import type { ShortFix } from '../../model/results/common.js';
import { formatBytes } from '../../model/units.js';
import type { StepKind } from '../../model/verdict.js';
import { wordOf } from '../words/fill.js';
import { stepText } from './step-words.js';

/** Their sentences name the setting already, with its evidence. */
const NAMES_SETTING: ReadonlySet<StepKind> = new Set([
  'expandable_segments',
  'expandable_first',
  'expandable_replayed',
]);

/** As `diagnose` and `advise` print them. */
export function actionTexts(actions: readonly AdviceAction[], fixes: readonly ShortFix[]): string[] {
  return actions.map(({ step, fixes: ids }) => {
    if (step !== null && ids.length === 0) return stepText(step);
    const chosen = ids.flatMap((id) => fixes.filter((fix) => fix.id === id));
    // Several are a plan only where they are enough together.
    const outcome = chosen.length === 1 ? outcomeText(chosen[0]!) : 'enough together';
    const text =
      step !== null && NAMES_SETTING.has(step.kind)
        ? stepText(step)
        : chosen.map((fix) => [fix.title, figures(fix)].filter((part) => part !== '').join(': ')).join(', and ');
    return [text, outcome].filter((part) => part !== '').join('; ');
  });
}

const savingName = wordOf('codes', 'savings');

/** How a saving is known, in one or two words. */
export function savingWords(by: SavingBy | null): string {
  return by === null ? '' : savingName(by);
}

const costName = wordOf('codes', 'costs');

/** How a cost is known, in one or two words. */
export function costWords({ cost_by: by }: Pick<AdviceFix, 'cost_by'>): string {
  return by === null ? '' : by === 'measured' ? 'measured elsewhere' : costName(by);
}

/** The same with the workload: `measured on Llama 3 70B, 32 × H100 80GB`. */
export function costSource(fix: Pick<AdviceFix, 'cost_by' | 'cost_on'>): string {
  const { cost_by: by, cost_on: on } = fix;
  return by === 'measured' && on !== null ? `measured on ${on}` : costWords(fix);
}

/** What is known of them. */
function figures(fix: ShortFix): string {
  const { saving_bytes: bytes, saving_by: by, cost_percent: cost, closes } = fix;
  const isServed = by === 'what_if' && closes !== false;
  const parts = [
    ...(bytes !== null && bytes > 0
      ? [`saves ${formatBytes(bytes)} (${savingWords(by)})`]
      : isServed
        ? ['replayed, this OOM does not occur']
        : []),
    ...(cost === null ? [] : [`${percentText(cost)} (${costWords(fix)})`]),
  ];
  return parts.join(', ');
}

/** Throughput lost or gained. */
export function percentText(cost: number): string {
  return cost === 0 ? 'no cost' : `${cost < 0 ? '+' : '−'}${Math.abs(cost)} % throughput`;
}

/** Empty where it is not known. */
function outcomeText({ closes }: ShortFix): string {
  return closes === null ? '' : closes ? 'enough' : 'it helps, and is not enough';
}
