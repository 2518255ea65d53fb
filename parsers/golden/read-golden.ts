import { MbfError } from '../../src/model/errors.js';
import type { GoldenFile, UpstreamValues } from '../../src/model/golden-values.js';
import { bridgeValues, isBridge, unwrapBridge } from './bridge-shape.js';
import { goldenDocument } from './document-shape.js';
import { inferenceValues, isInference } from './inference-shape.js';
import { isObject, type JsonObject, readPythonJson } from './python-json.js';
import type { Refuse } from './refuse.js';
import { isTraining, trainingValues } from './training-shape.js';

/** Upstream refuses to push more than 5 MiB; inference files with log-probabilities reach tens. */
const MOST_CHARACTERS = 256 * 1024 ** 2;

/**
 * The golden values in a JSON text: those of Megatron-LM (training, inference) or Megatron Bridge, or a document of
 * ours. A text of blanks only and `{}` are `empty`: upstream has committed such files. Throws MBF2801 with the file,
 * and with the byte where that is known, for everything else.
 */
export function readGolden(text: string, path: string): GoldenFile {
  const refuse: Refuse = (fact) => {
    throw new MbfError('MBF2801', fact, { file: path });
  };
  if (text.length > MOST_CHARACTERS) return refuse('is longer than 256 MiB, which no golden file is');
  if (/^\ufeff?\s*$/.test(text)) return upstream({ kind: 'empty' });
  const parse = (json: string, isWhole: boolean) =>
    readPythonJson(json, (fact, at) => {
      const offset = isWhole ? Buffer.byteLength(json.slice(0, at)) : undefined;
      throw new MbfError('MBF2801', `is not valid JSON: ${fact}`, { file: path, offset });
    });
  const outer = parse(text, true);
  // Inference tests that write JSON Lines leave one text that holds the object; upstream reads it so.
  const top = typeof outer === 'string' ? parse(outer, false) : outer;
  if (!isObject(top)) return refuse('holds no object, so it has no golden values');
  const schema = top.get('schema');
  if (typeof schema === 'string' && schema.startsWith('mbforensics/')) {
    return { kind: 'document', document: goldenDocument(top, refuse) };
  }
  return upstream(upstreamValues(top, refuse));
}

const upstream = (values: UpstreamValues): GoldenFile => ({ kind: 'upstream', values });

function upstreamValues(top: JsonObject, refuse: Refuse): UpstreamValues {
  if (top.size === 0) return { kind: 'empty' };
  if (isTraining(top)) return trainingValues(top, refuse);
  const { wrapper, inner } = unwrapBridge(top);
  if (wrapper !== '' && inner.size === 0) return { kind: 'empty' };
  // Both have objects under whole numbers, so what only one of them has decides.
  if (wrapper === '' && isInference(inner)) return inferenceValues(inner, refuse);
  if (isBridge(inner)) return bridgeValues(inner, wrapper, refuse);
  return refuse('holds none of the metrics of Megatron-LM or Megatron Bridge');
}

/** Enough for the first metric or request: what a file begins with decides. */
const HEAD_CHARACTERS = 65_536;
/** Position of the schema if a tool sorted the keys of one of our documents. */
const TAIL_CHARACTERS = 4096;

const DOCUMENT = /"schema"\s{0,9}:\s{0,9}"mbforensics\/golden@/;
const TRAINING =
  /^\{\s*"(?:[^"\\]|\\.){0,200}"\s*:\s*\{\s*(?:"(?:start_step|end_step|step_interval)"\s*:\s*-?\d{1,16}\s*,\s*){3}"values"\s*:\s*[[{]/;
const INFERENCE =
  /^\{\s*(?:"(?:throughput|mem-max-allocated-bytes|lifetime_prefill_token_count)"\s*:\s*[[\d]|"[^"\\]{1,80}"\s*:\s*\{\s*"(?:input_prompt|prompt_tokens|generated_(?:text|tokens|logprobs)|logprobs|routing_indices|latency)"\s*:)/;
const BRIDGE =
  /^\{\s*(?:"(?:baseline|current|\d\d\.\d\d\.\d\d)"\s*:\s*\{\s*)?(?:"-?\d{1,16}"\s*:\s*\{\s*"(?:lm loss|elapsed time per iteration \(ms\)|GPU utilization|grad norm)"\s*:|"(?:alloc|max_alloc|max_reserved)"\s*:\s*-?\d)/;
const EMPTY = /^\{\s*\}\s*$/;

/**
 * Whether a text begins like golden values: a cheap test of whether a path names a golden file. The head of a file is
 * enough. A file cut in the middle still passes, so that reading it reports the damage. `{}` is a golden file without
 * values; blank text is not one.
 */
export function looksLikeGolden(text: string): boolean {
  const head = text.slice(0, HEAD_CHARACTERS).replace(/^\ufeff?\s*/, '');
  // One text that holds the object, as JSON Lines leave it.
  const start = head.startsWith('"{') ? head.slice(1).replaceAll('\\"', '"').replaceAll('\\n', '\n') : head;
  if (!start.startsWith('{')) return false;
  if (TRAINING.test(start) || INFERENCE.test(start) || BRIDGE.test(start)) return true;
  if (DOCUMENT.test(start) || DOCUMENT.test(text.slice(-TAIL_CHARACTERS))) return true;
  return text.length <= HEAD_CHARACTERS && EMPTY.test(start);
}
