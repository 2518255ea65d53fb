/** What a reader of an issue asks first: versions, model, layout, allocator, device, and the text of the error. */
import { effectiveConfig, plainValue, readSettings } from '../../derive/run/config.js';
import { readFirstFailure } from '../../derive/run/first-failure-result.js';
import { readLogFacts } from '../../derive/run/log-facts.js';
import { pick } from '../../model/pick.js';
import type { ReportFacts } from '../../model/results/report.js';
import type { Store } from '../../store/store.js';

/** Settings that name the model, the most exact first. */
const NAMES = ['model_name', 'model_name_or_path', 'model._target_', 'hf_model_id', 'pretrained_model', 'recipe'];
/** Sizes of the model and of a batch, in the order of the page. */
const SIZES = [
  ...['num_layers', 'hidden_size', 'num_attention_heads', 'num_moe_experts', 'seq_length'],
  ...['micro_batch_size', 'global_batch_size'],
];

export async function reportFacts(store: Store, runId: number, run: string): Promise<ReportFacts> {
  const config = effectiveConfig(await readSettings(store, runId));
  const { facts, incidents, judged } = await readLogFacts(store, runId);
  const known = (key: string): string | null => {
    const value = plainValue(config.entry(key)?.value ?? null);
    return value === 'null' ? null : value;
  };
  const first = readFirstFailure(incidents, judged) ?? readFirstFailure(incidents);
  const shown = [
    ...(first === null ? [] : [incidents[first.incident]!]),
    ...incidents.filter(
      ({ is_oom, attempt, survived }) => is_oom && !survived && attempt === (first?.attempt ?? judged),
    ),
  ];
  // An OOM that another failure came before: both are asked for.
  const [cause, oom] = [shown[0], shown.find(({ is_oom }) => is_oom)];
  const errors = [...new Set([cause, oom])].filter((incident) => incident !== undefined);
  return {
    ...facts,
    run,
    model: {
      name: NAMES.map(known).find((name) => name !== null) ?? null,
      sizes: Object.fromEntries(SIZES.flatMap((key) => (Number(known(key)) > 0 ? [[key, Number(known(key))]] : []))),
    },
    errors: errors.map((incident) => pick(incident, ['file', 'line', 'rank', 'text'])),
  };
}
