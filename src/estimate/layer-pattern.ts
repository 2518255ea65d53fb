/**
 * Which layers have experts. Megatron takes a number n (every n-th layer, from the first), a list of 0 and 1, or a text
 * such as `([0]*3+[1]*58)`, which Python evaluates and we read. Upstream: `moe_freq_type` in
 * `megatron/training/arguments.py`.
 */

/** More layers than any model has; a text like `[1]*10**9` must not fill memory. */
const MOST_LAYERS = 10_000;

/** Reads sums and products of lists of 0 and 1; undefined if the text is anything else. */
export function readLayerPattern(text: string): readonly number[] | undefined {
  const tokens = text.match(/\d+|[[\](),*+]|\S/g) ?? [];
  let at = 0;
  const next = (): string | undefined => tokens[at];
  const accept = (token: string): boolean => {
    if (tokens[at] !== token) return false;
    at += 1;
    return true;
  };
  const number = (): number | undefined => {
    const token = next();
    if (token === undefined || !/^\d{1,6}$/.test(token)) return undefined;
    at += 1;
    return Number(token);
  };
  const list = (): readonly number[] | undefined => {
    const items: number[] = [];
    while (!accept(']')) {
      const item = number();
      if (item !== 0 && item !== 1) return undefined;
      items.push(item);
      accept(',');
    }
    return items;
  };
  const factor = (): readonly number[] | undefined => {
    if (accept('[')) return list();
    if (!accept('(')) return undefined;
    const inner = sum();
    return accept(')') ? inner : undefined;
  };
  const product = (): readonly number[] | undefined => {
    let items = factor();
    while (items !== undefined && accept('*')) {
      const times = number();
      if (times === undefined || items.length * times > MOST_LAYERS) return undefined;
      const once: readonly number[] = items;
      items = Array.from({ length: times }, () => once).flat();
    }
    return items;
  };
  function sum(): readonly number[] | undefined {
    let items = product();
    while (items !== undefined && accept('+')) {
      const more = product();
      items = more === undefined || items.length + more.length > MOST_LAYERS ? undefined : [...items, ...more];
    }
    return items;
  }
  const pattern = sum();
  return at === tokens.length ? pattern : undefined;
}
