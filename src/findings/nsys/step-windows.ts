/**
 * The windows of training steps, from NVTX ranges: named ones, otherwise those that end a step, otherwise those that
 * recur and cover most of the time.
 */
import { maxOf, minOf, pushAll } from '../../model/lists.js';
import type { NsysStep, NsysStepBasis } from '../../model/results/nsys.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

/**
 * Texts that name the step itself; # is a placeholder for each number. Megatron, NeMo, Lightning, torch.profiler,
 * Hugging Face, and common manual texts.
 */
const STEP_TEXT =
  /^(?:[\w.]+[:/ ])?(?:global[-_ ]?|train(?:ing|er)?[-_ ]?|outer[-_ ]?)?(?:iter(?:ation)?|step|batch|train[-_ ]?(?:step|batch|iter(?:ation)?)|ProfilerStep|training_step|run_training_batch)s?[-_ :=#*]*(?:#|\(#\)|\[#\])?$/i;
/** A step, an iteration or a batch of something smaller, or not of training. */
const NO_STEP =
  /^(?:forward|fwd|backward|bwd|optim\w*|lr|\w*scheduler|micro|eval\w*|valid\w*|val|test\w*|infer\w*|predict\w*|generat\w*|decod\w*|sampl\w*|data\w*|load\w*)[:/. ]/i;
/** Texts of ranges that end a step. `Optimizer.step#Adam.step` is torch's text. */
const STEP_END = /^(?:Optimizer\.step#.*|(?:.*[\].:/])?optimizer[-_. ]?step.*|.*\bstep_optimizer|optim_step)$/i;
/**
 * Operators, of which autograd numbers those it will differentiate, and calls of libraries: with recomputed layers,
 * their backward fills most of a step.
 */
const OPERATOR = /^(?:aten::|autograd::|c10d::|cuda|nccl)|, seq = #|^\w+Backward#?(?:,|$)/i;
/** Fewer windows cannot be distinguished from chance. */
const LEAST_RECURRING = 3;
/**
 * To be taken for the step, recurring ranges must fill this share of the time between the first and the last of them,
 * which must cover this share of the time of all ranges.
 */
const LEAST_COVER = 0.5;
/** Ranges that recur at equal distances and fill this share may mark the beginnings of steps. */
const LEAST_PERIOD_COVER = 0.1;
/** Most candidates examined, the largest first. */
const MOST_TRIED = 4;

type RangeGroup = QueryRow<'nsys.range_groups'>;

export interface StepWindows {
  readonly steps: readonly NsysStep[];
  readonly by: NsysStepBasis | null;
}

const NONE: StepWindows = { steps: [], by: null };

/** In order of process, then time. */
export async function stepWindows(store: Store, sourceId: number): Promise<StepWindows> {
  const groups = (await store.all('nsys.range_groups', { source_id: sourceId })).filter(
    ({ domain_name, count }) => count > 0 && !/^nccl/i.test(domain_name ?? ''),
  );
  for (const basis of basesOf(groups)) {
    const steps = await stepsOf(store, sourceId, groups, basis);
    if (steps.length > 0) return { steps, by: { by: basis.by, text: basis.template } };
  }
  return NONE;
}

async function stepsOf(
  store: Store,
  sourceId: number,
  groups: readonly RangeGroup[],
  basis: Basis,
): Promise<NsysStep[]> {
  // The same text on one thread of each process: the ranks of a node.
  const chosen = new Map<number | null, RangeGroup>();
  for (const group of groups) {
    if (group.template !== basis.template || group.type !== basis.type || group.overlaps) continue;
    const known = chosen.get(group.pid);
    if (known === undefined || group.count > known.count) chosen.set(group.pid, group);
  }
  const steps: NsysStep[] = [];
  for (const group of [...chosen.values()].sort((a, b) => (a.pid ?? -1) - (b.pid ?? -1))) {
    pushAll(steps, await windowsOf(store, sourceId, group, basis.by));
  }
  return steps;
}

/**
 * The text without additions of profilers: `[pl][profile]` of Lightning, and numbers of operators under torch's
 * emit_nvtx.
 */
function nameOf(text: string): string {
  return text
    .replace(/, (?:seq|op_id|sizes|input_op_ids) = .*$/s, '')
    .replace(/^\[pl\]\[\w+\]/, '')
    .trim();
}

interface Basis {
  readonly by: NsysStepBasis['by'];
  readonly template: string;
  readonly type: string;
}

/** Candidates for the steps, the most certain first. */
function basesOf(groups: readonly RangeGroup[]): Basis[] {
  const sequential = groups
    .filter(({ overlaps }) => !overlaps)
    .map((group) => ({ ...group, name: nameOf(group.template) }));
  const largest = (candidates: readonly RangeGroup[], by: Basis['by'], most: number): Basis[] =>
    [...candidates]
      .sort((a, b) => (b.total_ns ?? 0) - (a.total_ns ?? 0))
      .slice(0, most)
      .map(({ template, type }) => ({ by, template, type }));
  const all =
    maxOf(groups.map(({ end_ns, start_ns }) => end_ns ?? start_ns)) - minOf(groups.map(({ start_ns }) => start_ns));
  const recurring = sequential.filter(
    ({ count, total_ns, median_ns, start_ns, end_ns, template }) =>
      count >= LEAST_RECURRING &&
      template.trim() !== '' &&
      !OPERATOR.test(template) &&
      // Steps are alike; a set-up that takes seconds and then microseconds is not a step.
      count * (median_ns ?? 0) >= LEAST_COVER * (total_ns ?? 0) &&
      (end_ns ?? start_ns) - start_ns >= LEAST_COVER * all,
  );
  const share = ({ total_ns, start_ns, end_ns }: RangeGroup): number =>
    (total_ns ?? 0) / ((end_ns ?? start_ns) - start_ns);
  return [
    ...largest(
      sequential.filter(({ name }) => STEP_TEXT.test(name) && !NO_STEP.test(name)),
      'range',
      1,
    ),
    ...largest(
      sequential.filter(({ name, count }) => count >= 2 && STEP_END.test(name)),
      'anchor',
      1,
    ),
    ...largest(
      recurring.filter((group) => share(group) >= LEAST_COVER),
      'recurring',
      MOST_TRIED,
    ),
    ...largest(
      recurring.filter((group) => share(group) >= LEAST_PERIOD_COVER),
      'period',
      MOST_TRIED,
    ),
  ];
}

async function windowsOf(store: Store, sourceId: number, group: RangeGroup, by: Basis['by']): Promise<NsysStep[]> {
  const { pid, tid, type, template } = group;
  const rows = await store.all('nsys.ranges_of_group', { source_id: sourceId, pid, tid, type, template });
  const ranges = rows.flatMap(({ start_ns, end_ns, text }) => (end_ns === null ? [] : [{ start_ns, end_ns, text }]));
  if (by === 'anchor') {
    // A step lasts from the end of one optimizer step to the end of the next; the beginning of the first is unknown.
    const ends = lastOfEach(ranges.map(({ end_ns }) => end_ns));
    return ends.slice(1).map((end_ns, i) => ({ index: i + 1, start_ns: ends[i]!, end_ns, pid }));
  }
  const numbers = ranges.map(({ text }) => numberIn(text));
  const isNumbered = numbers.every((number, i) => number !== undefined && (i === 0 || number > numbers[i - 1]!));
  // Layers are numbered too, repeatedly.
  if (by !== 'range' && !isNumbered && ranges.some(({ text }) => /\d/.test(nameOf(text)) && text !== ranges[0]!.text))
    return [];
  if (by === 'period') {
    const gaps = ranges.slice(1).map(({ start_ns }, i) => start_ns - ranges[i]!.start_ns);
    const usual = [...gaps].sort((a, b) => a - b)[gaps.length >> 1] ?? 0;
    const isRegular = usual * gaps.length >= LEAST_COVER * (ranges.at(-1)!.start_ns - ranges[0]!.start_ns);
    if (!isRegular) return [];
    return gaps.map((gap, i) => ({
      index: isNumbered ? numbers[i]! : i + 1,
      start_ns: ranges[i]!.start_ns,
      end_ns: ranges[i]!.start_ns + gap,
      pid,
    }));
  }
  return ranges.map(({ start_ns, end_ns }, i) => ({ index: isNumbered ? numbers[i]! : i + 1, start_ns, end_ns, pid }));
}

/** Ends closer together than this share of the usual distance belong to one step. */
const SAME_STEP = 0.1;

/**
 * The last of ends that are close together: a chain of optimizers (Megatron's, of dense and expert parameters) ends
 * several times a step.
 */
function lastOfEach(ends: readonly number[]): number[] {
  const gaps = ends.slice(1).map((end, i) => end - ends[i]!);
  const usual = [...gaps].sort((a, b) => a - b)[Math.floor(0.9 * gaps.length)] ?? 0;
  return ends.filter((_, i) => i === ends.length - 1 || gaps[i]! >= SAME_STEP * usual);
}

/** The one number of a text; undefined if there are none or several. */
function numberIn(text: string): number | undefined {
  const digits = nameOf(text).match(/\d+/g);
  return digits?.length === 1 && Number.isSafeInteger(Number(digits[0])) ? Number(digits[0]) : undefined;
}

export interface SteadyWindow {
  readonly fromNs: number;
  readonly toNs: number;
  /** 0: the window is not made of steps. */
  readonly steps: number;
}

/**
 * The steps except the first, whose warm-up would be taken for thrashing. The processes of a report run in step: one of
 * them determines the window.
 */
export function steadyWindow(steps: readonly NsysStep[]): SteadyWindow | undefined {
  const processSteps = steps.filter(({ pid }) => pid === steps[0]!.pid);
  if (processSteps.length < 2) return undefined;
  return { fromNs: processSteps[1]!.start_ns, toNs: processSteps.at(-1)!.end_ns, steps: processSteps.length - 1 };
}
