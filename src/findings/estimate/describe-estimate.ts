/**
 * One estimate by one of three models, as `estimate` returns it; with changed settings, what the change does to every
 * component.
 */

import { describeStage } from '../../derive/estimate/describe-stage.js';
import type { DeviceTotal, RunInputs } from '../../derive/estimate/run-inputs.js';
import { configName, type GivenInputs, INPUT_NAMES, type InputName } from '../../estimate/input-keys.js';
import { changeInputs, completeInputs, type EstimateInputs, missingInputs } from '../../estimate/inputs.js';
import { estimateMegatronBridge } from '../../estimate/megatron-bridge.js';
import { estimateMegatronLm } from '../../estimate/megatron-lm.js';
import { pythonSum } from '../../estimate/python-numbers.js';
import { demandInputs, type ReadInputs } from '../../estimate/read-inputs.js';
import { estimateStages } from '../../estimate/stages/estimate-stages.js';
import { isHybrid, refuseHybrid } from '../../estimate/stages/forbidden.js';
import { dynamicContextParallel } from '../../estimate/stages/not-modelled.js';
import type { UpstreamEstimate } from '../../estimate/upstream.js';
import { MbfError } from '../../model/errors.js';
import type {
  EstimateChange,
  EstimateChangedInput,
  EstimateComponent,
  EstimateDevice,
  EstimateInputValue,
  EstimateModel,
  EstimateResult,
} from '../../model/results/estimate.js';
import { sentencesOf, type Text, type Unworded } from '../../model/statement.js';

const sentence = sentencesOf('estimate');

export interface EstimateQuestion {
  readonly model: EstimateModel;
  /** The run or file of the inputs; null for `--inputs`. */
  readonly run: string | null;
  readonly given: GivenInputs;
  readonly values: readonly EstimateInputValue[];
  readonly unread: readonly string[];
  /** `KEY=VALUE` pairs. */
  readonly set: readonly (readonly [string, string])[];
  readonly device: DeviceTotal | null;
}

/** What a run contains, as a question. `device` is what the user gave; it takes precedence. */
export function questionOfRun(
  run: string,
  { given, values, unread, device: known }: RunInputs,
  asked: Pick<EstimateQuestion, 'model' | 'set' | 'device'>,
): EstimateQuestion {
  return { ...asked, run, given, values, unread, device: asked.device ?? known };
}

/**
 * The keys and values of a JSON document; those of Bridge's sections (`model`, `optimizer`, …) count as if they were
 * outside. Throws MBF2202.
 */
export function questionOfJson(
  text: string,
  file: string,
  asked: Pick<EstimateQuestion, 'model' | 'set' | 'device'>,
): EstimateQuestion {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new MbfError(
      'MBF2202',
      `it is not valid JSON: ${error instanceof Error ? error.message : ''}`,
      { file },
      error,
    );
  }
  if (!isSection(document)) throw new MbfError('MBF2202', 'it is not a JSON object of keys and values', { file });
  const pairs = Object.entries(document).flatMap(([key, value]) =>
    isSection(value) ? Object.entries(value) : [[key, value] as const],
  );
  const { given } = demandInputs(pairs, 'MBF2202', { file });
  return { ...asked, run: null, given, values: valuesOf(given, file), unread: [] };
}

function isSection(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valuesOf(given: GivenInputs, origin: string): EstimateInputValue[] {
  return INPUT_NAMES.flatMap((key) => {
    const value = given[key];
    return value === undefined ? [] : [{ key, value, origin }];
  });
}

/**
 * Throws MBF1001 for settings that are none, for inputs that are missing, and for configurations that Megatron refuses.
 */
export function describeEstimate(question: EstimateQuestion): Unworded<EstimateResult, 'assumptions' | 'not_modelled'> {
  const changes = demandInputs(question.set, 'MBF1001');
  const isChanged = question.set.length > 0;
  const base = isChanged ? baseOf(question) : null;
  const changedInputs =
    base === null ? withChanges(question.given, changes) : changeInputs(question.given, changes.given, changes.cleared);
  demandComplete(changedInputs);
  const inputs = completeInputs(changedInputs);
  const answer = answerOf(question.model, inputs);
  const { components } = answer;
  const result = totalsOf(components);
  return {
    schema: 'mbforensics/estimate@1',
    model: question.model,
    run: question.run,
    components,
    activation_bytes: components.find(({ name }) => name === 'activation')?.bytes ?? null,
    ...result,
    assumptions: [...question.unread, ...answer.assumptions],
    not_modelled: answer.notModelled,
    inputs: inputValues(question, changedInputs, changes),
    stages: answer.stages,
    hottest_stage: answer.hottest,
    device: question.device === null ? null : deviceOf(question.device, result),
    change: base === null ? null : changeOf(question, changes, base, { inputs, answer }),
    printed: answer.printed,
    figures: answer.figures,
  };
}

/** Inputs with the answer of a model. */
interface Estimated {
  readonly inputs: EstimateInputs;
  readonly answer: Answer;
}

/**
 * What there was before `--set`; null where that is incomplete or refused, which may be what `--set` mends: then there
 * is nothing to compare with.
 */
function baseOf({ given, model }: EstimateQuestion): Estimated | null {
  if (missingInputs(given).length > 0) return null;
  try {
    const inputs = completeInputs(given);
    return { inputs, answer: answerOf(model, inputs) };
  } catch (error) {
    if (error instanceof MbfError) return null;
    throw error;
  }
}

function withChanges(given: GivenInputs, { given: changed, cleared }: ReadInputs): GivenInputs {
  const kept: Partial<Record<InputName, unknown>> = { ...given };
  for (const name of cleared) delete kept[name];
  return { ...(kept as GivenInputs), ...changed };
}

function demandComplete(given: GivenInputs): void {
  const missing = missingInputs(given);
  if (missing.length === 0) return;
  const named = missing.map((name) => (configName(name) === name ? name : `${name} (${configName(name)})`));
  throw new MbfError(
    'MBF1001',
    `missing inputs: ${named.join(', ')}; give each with --set KEY=VALUE, e.g. --set ${missing[0]}=…, or in the file`,
  );
}

/** The figures of a model, before any comparison. */
interface Answer {
  readonly components: readonly EstimateComponent[];
  readonly assumptions: readonly Text[];
  readonly notModelled: readonly Text[];
  readonly stages: EstimateResult['stages'];
  readonly hottest: number | null;
  readonly printed: EstimateResult['printed'];
  readonly figures: Readonly<Record<string, number>>;
}

function answerOf(model: EstimateModel, inputs: EstimateInputs): Answer {
  if (model !== 'megatron-bridge') refuseHybrid(inputs);
  switch (model) {
    case 'megatron-lm':
      return upstreamAnswer(estimateMegatronLm(inputs), inputs, null);
    case 'megatron-bridge': {
      const estimate = estimateMegatronBridge(inputs);
      const answer = upstreamAnswer(estimate, inputs, estimate.apiLine);
      if (!isHybrid(inputs)) return answer;
      return {
        ...answer,
        assumptions: [sentence('hybrid'), ...answer.assumptions],
      };
    }
    case 'mbforensics': {
      const { stages, hottest, assumptions, notModelled } = estimateStages(inputs);
      const described = stages.map((stage) => describeStage(stage, inputs));
      return {
        components: described[hottest]!.components,
        assumptions,
        notModelled,
        stages: described,
        hottest,
        printed: null,
        figures: {},
      };
    }
  }
}

/** What both projects state that they leave out, in our words. */
const UPSTREAM_GAPS: readonly Text[] = [sentence('gap_everything'), sentence('gap_dtypes'), sentence('gap_stages')];

function upstreamAnswer(estimate: UpstreamEstimate, inputs: EstimateInputs, apiLine: string | null): Answer {
  const exact = (name: string, bytes: number): EstimateComponent => ({
    name,
    bytes,
    low_bytes: bytes,
    high_bytes: bytes,
    parts: [],
  });
  return {
    components: [
      ...estimate.modelState.map(({ name, bytes }) => exact(name, bytes)),
      exact('activation', estimate.activationBytes),
    ],
    assumptions: [...estimate.assumptions, ...inputs.assumed],
    notModelled: [...dynamicContextParallel(inputs), ...UPSTREAM_GAPS],
    stages: [],
    hottest: null,
    printed: { log_lines: estimate.lines, api_line: apiLine },
    figures: estimate.figures,
  };
}

function totalsOf(
  components: readonly EstimateComponent[],
): Pick<EstimateResult, 'total_bytes' | 'low_bytes' | 'high_bytes'> {
  return {
    total_bytes: pythonSum(components.map(({ bytes }) => bytes)),
    low_bytes: pythonSum(components.map(({ low_bytes }) => low_bytes)),
    high_bytes: pythonSum(components.map(({ high_bytes }) => high_bytes)),
  };
}

function deviceOf(
  { bytes, source }: DeviceTotal,
  { total_bytes, low_bytes, high_bytes }: ReturnType<typeof totalsOf>,
): EstimateDevice {
  const fits = high_bytes <= bytes ? 'yes' : low_bytes > bytes ? 'no' : 'unsure';
  return { total_bytes: bytes, source, fits, headroom_bytes: bytes - total_bytes };
}

/** Inputs in force, those of `--set` and what follows from them marked as such. */
function inputValues(question: EstimateQuestion, given: GivenInputs, changes: ReadInputs): EstimateInputValue[] {
  const valuesByKey = new Map(question.values.map((entry) => [entry.key, entry]));
  return INPUT_NAMES.flatMap((key) => {
    const value = given[key];
    if (value === undefined) return [];
    if (changes.given[key] !== undefined) return [{ key, value, origin: '--set' }];
    const known = valuesByKey.get(key);
    if (known !== undefined && known.value === value) return [known];
    return [{ key, value, origin: known?.origin ?? 'computed' }];
  });
}

function changeOf(
  question: EstimateQuestion,
  changes: ReadInputs,
  { inputs: baseInputs, answer: base }: Estimated,
  { inputs, answer }: Estimated,
): EstimateChange {
  const names = [...new Set([...base.components, ...answer.components].map(({ name }) => name))];
  const bytesOf = ({ components }: Answer, wanted: string): number =>
    components.find(({ name }) => name === wanted)?.bytes ?? 0;
  const before = totalsOf(base.components).total_bytes;
  const after = totalsOf(answer.components).total_bytes;
  const changed = new Set([...(Object.keys(changes.given) as InputName[]), ...changes.cleared]);
  return {
    set: [...changed].map((key) => ({
      key,
      from: question.given[key] ?? null,
      to: changes.given[key] ?? null,
    })),
    followed: followedInputs(baseInputs, inputs).filter(({ key }) => !changed.has(key as InputName)),
    components: names.map((name) => {
      const [base_bytes, bytes] = [bytesOf(base, name), bytesOf(answer, name)];
      return { name, base_bytes, bytes, delta_bytes: bytes - base_bytes };
    }),
    base_total_bytes: before,
    total_bytes: after,
    delta_bytes: after - before,
    base_hottest_stage: base.hottest,
    base_moment: momentOf(base),
    moment: momentOf(answer),
  };
}

function momentOf({ stages, hottest }: Answer): EstimateChange['moment'] {
  return hottest === null ? null : (stages[hottest]?.moment ?? null);
}

/** What {@link changeInputs} computed again. */
function followedInputs(before: EstimateInputs, after: EstimateInputs): EstimateChangedInput[] {
  const sizes = ({ world, dp, microBatches, paddedVocab }: EstimateInputs) => ({
    world,
    dp,
    num_microbatches: microBatches,
    padded_vocab_size: paddedVocab,
  });
  const now = sizes(after);
  return Object.entries(sizes(before)).flatMap(([key, from]) => {
    const to = now[key as keyof typeof now];
    return from === to ? [] : [{ key, from, to }];
  });
}
