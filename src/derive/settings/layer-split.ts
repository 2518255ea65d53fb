/** How layers are divided among pipeline stages and virtual stages. */
import { type Condition, where } from './condition.js';
import type { FactsView } from './facts.js';
import { asNumber } from './values.js';

/** Layers and stages as a configuration asks for them; the first and last stage may hold a number of their own. */
export interface Split {
  readonly layers: number;
  readonly pp: number;
  readonly vpp: number;
  readonly first: number | null;
  readonly last: number | null;
}

const KEYS = [
  'num_layers',
  'pipeline_model_parallel_size',
  'virtual_pipeline_model_parallel_size',
  'num_layers_in_first_pipeline_stage',
  'num_layers_in_last_pipeline_stage',
  'account_for_embedding_in_pipeline_split',
  'account_for_loss_in_pipeline_split',
  'pipeline_model_parallel_layout',
] as const;

/** False with an explicit pipeline layout, and with a single stage that is all. */
export function split(text: string, broken: (split: Split) => boolean): Condition {
  return where(text, (view: FactsView) => {
    const [layers, pp, vpp, first, last, embedding, loss, layout] = KEYS.map((key) => view.setting(key));
    const stages = asNumber(pp!.value) ?? 1;
    // A single stage is not divided, unless a first or last one is asked for.
    const isAsked = first!.value !== null || last!.value !== null;
    if (pp!.by !== 'unknown' && stages <= 1 && !isAsked) return [false, pp!];
    if (layout!.value !== null) return [false, layout!];
    const facts = [layers!, pp!, vpp!, first!, last!, embedding!, loss!, layout!];
    const unknown = facts.filter(({ by }) => by === 'unknown');
    if (unknown.length > 0) return [null, ...unknown, ...facts.filter(({ by }) => by === 'told')];
    const count = asNumber(layers!.value);
    if (count === null) return [false, layers!];
    // An embedding or a head that is accounted for counts as one layer.
    const more = [embedding!, loss!].filter(({ value }) => /^true$/i.test(value ?? '')).length;
    const value = broken({
      layers: count + more,
      pp: stages,
      vpp: Math.max(1, asNumber(vpp!.value) ?? 1),
      first: asNumber(first!.value),
      last: asNumber(last!.value),
    });
    return [value, ...facts.filter(({ key, by }) => by === 'told' || key === 'num_layers')];
  });
}

/** Layers and stages that are left between the first and the last, where those have numbers of their own. */
function middle({ layers, pp, first, last }: Split): { readonly layers: number; readonly stages: number } {
  return {
    layers: layers - (first ?? 0) - (last ?? 0),
    stages: pp - (first === null ? 0 : 1) - (last === null ? 0 : 1),
  };
}

export function leavesRest(whole: Split): boolean {
  const { first, last } = whole;
  if ((first !== null && first <= 0) || (last !== null && last <= 0)) return true;
  const middlePart = middle(whole);
  return middlePart.stages <= 0 ? middlePart.layers !== 0 : middlePart.layers % middlePart.stages !== 0;
}

export function chunksUneven(whole: Split): boolean {
  const { vpp, first, last } = whole;
  if (vpp === 1 || leavesRest(whole)) return false;
  const { layers, stages } = middle(whole);
  const each = [first, last, stages > 0 ? layers / stages : null].filter((count) => count !== null);
  return each.some((count) => count % vpp !== 0);
}
