/** Named conditions for `parse-condition.ts`: those that need code, and those of `knowledge/terms.yaml`. */
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { loadData } from '../../knowledge/load-data.js';
import { unlistedModules } from '../../knowledge/module-lists.js';
import { type Condition, oneClause, onSetting, onVariable, type Tri, unlessUnknown, where } from './condition.js';
import type { FactsView, Looked } from './facts.js';
import { chunksUneven, leavesRest, split } from './layer-split.js';
import { layoutFits, stagesOfLayout } from './layout.js';
import { microbatchesUninterleavable } from './microbatches.js';
import { type ConditionContext, parseCondition, type Term } from './parse-condition.js';
import { asList, asNumber, isOn } from './values.js';

/** A condition of a data file; `place` names the file and the record in messages. */
export function conditionOfText(text: string, place: string, isSetting?: ConditionContext['isSetting']): Condition {
  return parseCondition(text, { place, term: termOf, isSetting });
}

let texts: Readonly<Record<string, string>> | undefined;

/** In the texts `$1` is the argument. */
export function textTerms(): Readonly<Record<string, string>> {
  texts ??= loadData('terms') as Readonly<Record<string, string>>;
  return texts;
}

function termOf(name: string): Term | undefined {
  if (Object.hasOwn(CODE_TERMS, name)) return CODE_TERMS[name];
  const text = Object.hasOwn(textTerms(), name) ? textTerms()[name]! : undefined;
  return text === undefined
    ? undefined
    : (arg = '') => oneClause(conditionOfText(text.replaceAll('$1', arg), `terms: ${name}`));
}

/** A condition on the text of a variable; it does not hold where the variable is not set. */
const onText = (name: string, text: string, test: (value: string) => boolean): Condition =>
  onVariable(name, text, (value) => value !== null && test(value));

const CUDA_CONF = 'PYTORCH_CUDA_ALLOC_CONF';
const ALIAS_CONF = 'PYTORCH_ALLOC_CONF';
/** As Megatron-Core looks for it: a whole entry between commas. */
const hasEntry = (text: string): boolean => text.split(',').includes('expandable_segments:True');
/** As torch reads it: white space is skipped, and only `True` counts. */
const expands = (text: string): boolean => hasEntry(text.replace(/\s+/g, ''));

/** torch takes a colon, names that it knows, and `True` and `False` for the switch. */
function isRefused(text: string): boolean {
  return text
    .replace(/\s+/g, '')
    .split(',')
    .some((entry) => {
      if (entry.includes('=')) return true;
      return /^expandable_?segments?(?::|$)/i.test(entry) && !/^expandable_segments:(?:True|False)$/.test(entry);
    });
}

/** GPUs that share NVLink: 72 in an NVL72 rack, 8 in every other known device; null where the device is unknown. */
function nvlinkDomain({ facts }: FactsView): number | null {
  const { name, capability } = facts.device;
  if (name === null && capability === null) return null;
  return name !== null && /gb[23]00|nvl72/i.test(name) ? 72 : 8;
}

/** `moe_layer_freq`: 1, every n-th, a pattern of zeros and ones, or Python that makes one. */
function everyLayer(freq: string | null): Tri {
  const items = asList(freq) ?? ['1'];
  const [only = '1'] = items;
  if (items.every((item) => /^\d+$/.test(item))) {
    return items.length === 1 ? only === '1' : !items.includes('0');
  }
  const text = items.join(',');
  if (/\[0\]|\b0\b/.test(text)) return false;
  return /^\(?\[1\]\*\d+\)?$/.test(text) ? true : null;
}

/** The value as written, which a log's dump no longer shows: there the older spellings are already replaced. */
function writtenValue(view: FactsView, key: string): string | null {
  const explicit = view.facts.settings.get(key);
  return explicit === undefined || explicit.origin === 'log dump' ? null : explicit.value;
}

/** Arguments of Megatron-LM's programs for inference only. */
const SERVING = [
  'num_tokens_to_generate',
  'incoming_requests_per_sec',
  'incoming_requests_per_step',
  'prompts',
  'prompt_file',
];

export const CODE_TERMS: Readonly<Record<string, Term>> = {
  /** Set explicitly: no default, and not derived from another setting. */
  explicit: (key) => where(`${key} told`, (view) => [view.facts.settings.has(key!), view.setting(key!)]),

  /** Set explicitly to `on` or `off`, whatever the framework makes of it when it starts. */
  asked: (key, wanted) =>
    where(`${key} set to ${wanted}`, (view) => {
      const explicit = view.facts.settings.get(key!);
      if (explicit === undefined) return [false];
      const fact: Looked = { key: key!, kind: 'setting', by: 'told', value: explicit.value, explicit, source: null };
      return [isOn(explicit.value) === (wanted === 'on'), fact];
    }),

  /** A program that answers requests: it neither trains nor has an optimizer. */
  serves: () =>
    where('the program answers requests', (view) => {
      const keys = SERVING.filter((key) => view.facts.settings.get(key)?.value != null);
      return [keys.length > 0 && !isOn(view.facts.settings.get('perform_rl_step')?.value ?? null)];
    }),

  /** As it is written, whatever a release makes of it. */
  written: (key, value) =>
    where(`${key} written as ${value}`, (view) => {
      const explicit = view.facts.settings.get(key!);
      return [explicit?.value === value, view.setting(key!)];
    }),

  /** Set to None. Unknown where it is not set: recipes and wrappers fill such fields in. */
  explicit_none: (key) =>
    where(`${key} = None`, (view) => {
      const fact = view.setting(key!);
      if (fact.by !== 'told') return [null, { ...fact, by: 'unknown' }];
      return [fact.value === null || /^none$/i.test(fact.value), fact];
    }),

  /** The setting's text contains this, e.g. the class of a section. */
  like: (key, part) =>
    onSetting(key!, `${key} like ${part}`, ({ value }) => part!.split('|').some((one) => value?.includes(one))),

  /** A flag that both sections set, to different values. */
  differs: (key) =>
    where(`model.${key} ≠ optimizer.${key}`, (view) => {
      const [model, optimizer] = [view.setting(`model.${key}`), view.setting(`optimizer.${key}`)];
      const explicit = model.by === 'told' && optimizer.by === 'told';
      return [explicit && isOn(model.value) !== isOn(optimizer.value), model, optimizer];
    }),

  every_layer_has_experts: () =>
    onSetting('moe_layer_freq', 'every layer has experts', ({ value }) => everyLayer(value)),

  several_graph_modules: () =>
    where('cuda_graph_modules has others in addition to full', (view) => {
      const fact = view.setting('cuda_graph_modules');
      return [(asList(fact.value) ?? []).length > 1, fact];
    }),

  old_and_new_graph_flags: () =>
    where('enable_cuda_graph or external_cuda_graph together with cuda_graph_impl', (view) => {
      const older = ['enable_cuda_graph', 'external_cuda_graph']
        .map((key) => view.setting(key))
        .filter(({ by, value }) => by === 'told' && isOn(value));
      const both = isOn(writtenValue(view, 'cuda_graph_impl')) && older.length > 0;
      return [both || older.length > 1, view.setting('cuda_graph_impl'), ...older];
    }),

  old_graph_spelling: () =>
    where('enable_cuda_graph, external_cuda_graph or the module full_iteration set', (view) => {
      const older = [
        ['enable_cuda_graph', /^true$/i],
        ['external_cuda_graph', /^true$/i],
        ['cuda_graph_modules', /full_iteration/],
      ] as const;
      const fact = older.filter(([key, pattern]) => pattern.test(writtenValue(view, key) ?? ''));
      return [fact.length > 0, ...fact.map(([key]) => view.setting(key))];
    }),

  /** Of a list of modules: one that this release does not know, or none does. */
  unlisted: (key) => conditionOfText(unlistedModules(key!), `module-lists: ${key}`),

  recompute_modules_asked: () =>
    where('recompute_modules set', (view) => {
      const fact = view.setting('recompute_modules');
      return [
        fact.explicit?.origin !== 'log dump' && fact.explicit !== null && !['[]', null].includes(fact.value),
        fact,
      ];
    }),

  granularity_misspelt: () =>
    where('recompute_granularity spelt granuality', (view) => {
      const fact = view.setting('recompute_granularity');
      return [fact.explicit !== null && /granuality/i.test(fact.explicit.raw_key), fact];
    }),

  layers_left_over: () => split('layers left over after division among pipeline stages', leavesRest),
  virtual_layers_left_over: () => split('layers of a stage left over after division by virtual stages', chunksUneven),

  microbatches_uninterleavable: () =>
    where('micro-batches do not fill the groups of interleaved stages', microbatchesUninterleavable),

  /** Of each kind of layer, as `layout.ts` counts them. */
  layout_misfits: () =>
    where('pipeline_model_parallel_layout does not fit the model or PP', (view) => {
      const keys = [
        'pipeline_model_parallel_layout',
        'num_layers',
        'pipeline_model_parallel_size',
        'mtp_num_layers',
        'virtual_pipeline_model_parallel_size',
      ] as const;
      const [layout, layers, pp, mtp, vpp] = keys.map((key) => view.setting(key));
      if (layout!.by === 'unknown') return [null, layout!];
      const stages = layout!.value === null ? null : stagesOfLayout(layout!.value);
      if (stages === null) return [false, layout!];
      const fact = [layers!, pp!, mtp!];
      if (fact.some(({ by }) => by === 'unknown')) return [null, layout!, ...fact];
      const isFitting = layoutFits(stages, {
        layers: asNumber(layers!.value),
        pp: asNumber(pp!.value) ?? 1,
        mtp: asNumber(mtp!.value) ?? 0,
        vpp: asNumber(vpp!.value),
      });
      return [!isFitting, layout!, ...fact, ...(vpp!.by === 'told' ? [vpp!] : [])];
    }),

  /** A list of losses for balancing experts needs a list of coefficients of the same length. */
  balancing_lists_differ: () =>
    where('moe_router_load_balancing_type and moe_aux_loss_coeff lists of different lengths', (view) => {
      const [types, coefficients] = [
        view.setting('moe_router_load_balancing_type'),
        view.setting('moe_aux_loss_coeff'),
      ];
      const count = asList(types.value)?.length ?? 0;
      if (types.by === 'unknown') return [null, types];
      if (count <= 1) return [false, types];
      return [
        unlessUnknown(coefficients, () => count !== (asList(coefficients.value)?.length ?? 0)),
        types,
        coefficients,
      ];
    }),

  /** The model's and the dataset's, where the configuration has both. */
  sequences_differ: () =>
    where('model.seq_length ≠ dataset.seq_length', (view) => {
      const [model, dataset] = [view.setting('model.seq_length'), view.setting('dataset.seq_length')];
      if (model.by !== 'told' || dataset.by !== 'told') return [false];
      return [asNumber(model.value) !== asNumber(dataset.value), model, dataset];
    }),

  wrong_cp_hierarchy: () =>
    where('product of hierarchical_context_parallel_sizes ≠ context_parallel_size', (view) => {
      const [levels, cp] = [view.setting('hierarchical_context_parallel_sizes'), view.setting('context_parallel_size')];
      if (levels.by === 'unknown' || cp.by === 'unknown') return [null, levels, cp];
      const sizes = asList(levels.value)?.map(asNumber);
      if (sizes === undefined || sizes.length === 0) return [true, levels, cp];
      const product = sizes.reduce<number>((whole, size) => whole * (size ?? Number.NaN), 1);
      return [product !== asNumber(cp.value), levels, cp];
    }),

  /** One entry is a word that was read as a list: the keys' dictionary declares it a list. */
  wrong_cp_list: () =>
    where('cp_comm_type a list of another length than num_layers', (view) => {
      const [types, layers] = [view.setting('cp_comm_type'), view.setting('num_layers')];
      const count = asList(types.value)?.length ?? 0;
      if (types.by === 'unknown') return [null, types];
      if (count <= 1) return [false, types];
      return [unlessUnknown(layers, () => count !== asNumber(layers.value)), types, layers];
    }),

  /** More GPUs than NVLink joins: 8 fit into every node, and more than 72 into no rack. */
  beyond_nvlink: (key) =>
    where(`${key} > GPUs of an NVLink domain`, (view) => {
      const fact = view.setting(key!);
      if (fact.by === 'unknown') return [null, fact];
      const size = asNumber(fact.value) ?? 1;
      if (size <= 8 || size > 72) return [size > 72, fact];
      const domain = nvlinkDomain(view);
      return [domain === null ? null : size > domain, fact, view.device()];
    }),

  nvl72: () =>
    where('GB200 or GB300 NVL72', (view) => {
      const domain = nvlinkDomain(view);
      return [domain === null ? null : domain === 72, view.device()];
    }),

  /** torch expands segments; it reads the first of its variables that is set. */
  expandable: () =>
    where('expandable_segments on', (view) => {
      const variables = ALLOCATOR_VARIABLES.map((name) => view.env(name));
      const index = variables.findIndex(({ by, value }) => by === 'unknown' || value !== null);
      const fact = variables[index];
      if (fact?.by === 'unknown') return [null, variables[0]!];
      return fact === undefined ? [false, variables[0]!] : [expands(fact.value!), fact];
    }),

  /** The older name of the variable, the only one that Megatron-Core's guards read, is not set. */
  only_by_alias: () =>
    where(`${CUDA_CONF} without expandable_segments:True`, (view) => {
      const fact = view.env(CUDA_CONF);
      return [unlessUnknown(fact, () => fact.value === null), fact, view.env(ALIAS_CONF)];
    }),

  literally_expandable: () => onText(CUDA_CONF, `${CUDA_CONF} has the entry expandable_segments:True`, hasEntry),
  expandable_for_torch_only: () =>
    onText(CUDA_CONF, `${CUDA_CONF} on for torch only`, (text) => expands(text) && !hasEntry(text)),
  refused_by_torch: () => onText(CUDA_CONF, `${CUDA_CONF} not understood by torch`, isRefused),
  allocator_variables_differ: () =>
    where(`${CUDA_CONF} ≠ ${ALIAS_CONF}`, (view) => {
      const [one, other] = [view.env(CUDA_CONF), view.env(ALIAS_CONF)];
      return [one.value !== other.value, one, other];
    }),

  /** One of these variables is not set. */
  one_unset: (...names) =>
    where(`one of ${names.join(', ')} not set`, (view) => {
      const fact = names.map((name) => view.env(name));
      const isUnknown = fact.some(({ by }) => by === 'unknown');
      return [isUnknown ? null : fact.some(({ value }) => value === null), ...fact];
    }),
};
