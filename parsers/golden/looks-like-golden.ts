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
