/** The steps of a verdict and the plan as one list, the first thing to do first. */
import type { AdviceAction, AdviceFix, AdvicePlan } from '../../model/results/advise.js';
import type { Step, StepKind } from '../../model/verdict.js';

/** Memory is short; they do not name a change. */
const GENERAL: ReadonlySet<StepKind> = new Set(['lower_live', 'lower_live_or_request']);
/** Fixes without a figure that are named where nothing is known to suffice. */
const MOST_TRIED = 2;

interface ListedFix extends Pick<AdviceFix, 'id' | 'status' | 'saving_bytes'> {
  /** Steps that it carries out. */
  readonly answers: readonly StepKind[];
  /** The recorded run was replayed with it. */
  readonly isReplayed: boolean;
  /** It changes what is computed. */
  readonly numerics: boolean;
  /** It acts on what was being allocated. */
  readonly acts: boolean;
  /** As `acts`, whatever the cause. */
  readonly isFirst?: boolean;
}

/**
 * What acts on the failing allocation; else of what changes no results, the largest saving that is known; else the
 * first of the list. What depends on missing information only where there is nothing else.
 */
function worthTrying(all: readonly ListedFix[]): readonly ListedFix[] {
  const certain = all.filter(({ status }) => status !== 'conditional');
  const open = certain.length > 0 ? certain : all;
  const acting = open.filter(({ acts }) => acts);
  if (acting.length > 0) return acting.slice(0, MOST_TRIED);
  const [largest] = open
    .filter(({ saving_bytes: bytes, numerics }) => (bytes ?? 0) > 0 && !numerics)
    .toSorted((a, b) => b.saving_bytes! - a.saving_bytes!);
  return largest === undefined ? open.slice(0, MOST_TRIED) : [largest];
}

/**
 * The plan takes the place of the first step that it carries out, or that names no change; else it comes after the
 * steps, which are the cause's own, unless it is sure and free. Without a plan, what is worth a try does. The first fix
 * for what was being allocated is listed whatever the cause.
 */
export function actionsOf(
  allSteps: readonly Step[],
  plan: Pick<AdvicePlan, 'fixes' | 'closes' | 'cost_percent'> | null,
  fixes: readonly ListedFix[],
  isLargeRequest = false,
): AdviceAction[] {
  const actions = causeActions(allSteps, plan, fixes);
  const site = fixes.find(
    ({ isFirst, status }) => isFirst === true && (status === 'possible' || status === 'recommended'),
  );
  const isListed = site === undefined || actions.some(({ fixes: ids }) => ids.includes(site.id));
  const all: AdviceAction[] = [...actions, ...(isListed ? [] : [{ step: null, fixes: [site.id] }])];
  if (site === undefined || !isLargeRequest) return all;
  // A request this large is hard to serve from any cache: its own fix comes before a check of the setting.
  const isCheck = ({ step }: AdviceAction): boolean => step?.kind === 'check_expandable';
  return [...all.filter((one) => !isCheck(one)), ...all.filter(isCheck)];
}

function causeActions(
  allSteps: readonly Step[],
  plan: Pick<AdvicePlan, 'fixes' | 'closes' | 'cost_percent'> | null,
  fixes: readonly ListedFix[],
): AdviceAction[] {
  const open = fixes.filter(({ status }) => status !== 'forbidden');
  // What is forbidden gives way to what would allow it.
  const steps = allSteps.filter(
    ({ kind, status }) => status !== 'forbidden' || !open.some(({ answers }) => answers.includes(kind)),
  );
  const chosen: readonly (readonly string[])[] = plan === null ? worthTrying(open).map(({ id }) => [id]) : [plan.fixes];
  const carriedOut = new Set(
    open.filter(({ id }) => plan?.fixes.includes(id) === true).flatMap(({ answers }) => answers),
  );
  const isGeneral = ({ kind }: Step): boolean => GENERAL.has(kind);
  const at = chosen.length === 0 ? -1 : steps.findIndex((step) => isGeneral(step) || carriedOut.has(step.kind));
  const asActions = (list: readonly Step[]): AdviceAction[] => list.map((step) => ({ step, fixes: [] }));
  const remaining = (list: readonly Step[]): Step[] =>
    chosen.length === 0 ? [...list] : list.filter((one) => !isGeneral(one));
  const alone = chosen.map((ids) => ({ step: null, fixes: ids }));
  // What serves the request at no cost, by a replay or known to be enough, comes before all that has to be tried.
  const isSure = plan?.closes === true || open.some(({ id, isReplayed }) => isReplayed && plan?.fixes[0] === id);
  if (at < 0)
    return isSure && plan?.cost_percent === 0 ? [...alone, ...asActions(steps)] : [...asActions(steps), ...alone];
  return [
    ...asActions(steps.slice(0, at)),
    ...chosen.map((ids, i) => ({ step: i === 0 ? steps[at]! : null, fixes: ids })),
    ...asActions(remaining(steps.slice(at + 1))),
  ];
}
