/**
 * `pipeline_model_parallel_layout`: the kinds of layers of each stage, as text. `Et*3|(tt|)*29,m|L`: stages end at a
 * bar, groups and layers are repeated; E is the embedding, t a layer, m a layer of multi-token prediction, L the loss.
 * Upstream: Megatron-LM megatron/core/transformer/pipeline_parallel_layer_layout.py.
 */

/** Most repetitions of a layout that are written out; models have fewer layers. */
const MOST_REPEATED = 1024;
const MOST_STAGES_TEXT = 65_536;

/**
 * A text for each stage, one letter for each layer; null for a list of lists (which Python wrote), and for one that is
 * absurdly long.
 */
export function stagesOfLayout(layout: string): readonly string[] | null {
  if (layout.startsWith('[')) return null;
  // Launch scripts escape bars and brackets for the shell.
  let text = layout.replace(/[\s,\\]/g, '');
  for (const pattern of [/\(([^()]*)\)\*(\d{1,5})/, /([^()|])\*(\d{1,5})/])
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [part, body, count] = match;
      if (Number(count) > MOST_REPEATED || text.length + body!.length * Number(count) > MOST_STAGES_TEXT) return null;
      text = text.slice(0, match.index) + body!.repeat(Number(count)) + text.slice(match.index + part.length);
    }
  return text.split('|');
}

/** Whether such stages are those of a model, as `validate_layer_layout` asks; `layers`, `vpp` null: not known. */
export function layoutFits(
  stages: readonly string[],
  {
    layers,
    pp,
    vpp,
    mtp,
  }: {
    readonly layers: number | null;
    readonly pp: number;
    readonly vpp: number | null;
    readonly mtp: number;
  },
): boolean {
  const flat = stages.join('');
  const count = (kind: string): number => flat.split(kind).length - 1;
  const predictors = stages.filter((stage) => stage.includes('m'));
  return (
    stages.length % pp === 0 &&
    (vpp === null || stages.length === pp * vpp) &&
    /^E[tm]*L$/.test(flat) &&
    (layers === null || count('t') === layers) &&
    count('m') === mtp &&
    !flat.includes('mt') &&
    predictors.length <= 1 &&
    // In the last virtual stage of its rank, and on the first rank only where that is its last.
    stages.slice(0, stages.length - pp).every((stage) => !stage.includes('m'))
  );
}
