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
