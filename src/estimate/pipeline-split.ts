/**
 * Which layers a pipeline stage has. Virtual stages deal the layers in rounds: chunk 0 of every stage, then chunk 1 of
 * every stage. Upstream: Megatron-Core `transformer_block.get_num_layers_to_build` and
 * `transformer_layer.get_transformer_layer_offset`; Megatron Bridge `_uneven_pipeline_stage_layer_counts` and
 * `_uneven_pipeline_stage_layer_indices`.
 */
import { MbfError } from '../model/errors.js';

/** Stage → chunk → layers, counted from 0 over the whole model. One chunk where stages are not virtual. */
export type StageSplit = readonly (readonly (readonly number[])[])[];

export interface SplitOptions {
  readonly layers: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/**
 * With a number of its own for the first or last stage. Throws MBF1001 where the other stages cannot share the rest
 * evenly.
 */
export function unevenStages({ layers, pp, vpp, first, last }: SplitOptions): StageSplit {
  if (pp <= 1)
    throw new MbfError(
      'MBF1001',
      'num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage need pp > 1',
    );
  const fixedEnds = (first === undefined ? 0 : 1) + (last === undefined ? 0 : 1);
  const stages = pp - fixedEnds;
  const remainingLayers = layers - (first ?? 0) - (last ?? 0);
  if (stages === 0 ? remainingLayers !== 0 : remainingLayers <= 0 || remainingLayers % stages !== 0)
    throw new MbfError(
      'MBF1001',
      `${layers} layers less those of the first and last stage (${first ?? '–'}, ${last ?? '–'}) leave ${remainingLayers} for ${stages} stages`,
    );
  const counts = new Array<number>(pp).fill(stages === 0 ? 0 : remainingLayers / stages);
  if (first !== undefined) counts[0] = first;
  if (last !== undefined) counts[pp - 1] = last;
  return dealLayers(counts, vpp);
}

export interface AccountedOptions extends Pick<SplitOptions, 'layers' | 'pp' | 'vpp'> {
  readonly embedding: boolean;
  readonly loss: boolean;
}

/**
 * The embedding and the loss each take the place of a layer: in the first chunk of the first stage, in the last chunk
 * of the last. Throws MBF1001 where the places cannot be dealt evenly.
 */
export function accountedStages({ layers, pp, vpp, embedding, loss }: AccountedOptions): StageSplit {
  const places = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  const chunks = vpp ?? 1;
  if (places % (pp * chunks) !== 0)
    throw new MbfError(
      'MBF1001',
      `${places} layers, embedding and loss included, are not a multiple of pp × vpp = ${pp * chunks} (pp-div)`,
    );
  const counts = Array.from({ length: pp * chunks }, () => places / (pp * chunks));
  if (embedding) counts[0]! -= 1;
  if (loss) counts[pp * chunks - 1]! -= 1;
  return chunksOfCounts(counts, pp);
}

/** From layers by chunk in their order through the model: chunk 0 of every stage, then chunk 1 of every stage. */
function chunksOfCounts(counts: readonly number[], pp: number): StageSplit {
  const split: number[][][] = Array.from({ length: pp }, () => []);
  let layer = 0;
  for (const [place, count] of counts.entries()) split[place % pp]!.push(Array.from({ length: count }, () => layer++));
  return split;
}

/** More than any layout has; a slip of the pen must not fill memory. */
const MOST_LAYOUT = 65_536;

/** Words of a list and letters of a text for what a stage may have. */
const LAYOUT_WORDS: Readonly<Record<string, string>> = { embedding: 'E', decoder: 't', mtp: 'm', loss: 'L' };

/**
 * The chunks of a layout, each as letters: E embedding, t decoder layer, m MTP depth, L loss. As a text,
 * `Ettt|(tt|)*29,m|L`: a bar ends a chunk, `(…)*n` and `x*n` repeat, commas mean nothing. As a list: a list of words
 * for each chunk. Null for everything else. Upstream: `PipelineParallelLayerLayout.parse_str_to_list`.
 */
export function readLayout(text: string): readonly string[] | null {
  const plain = text.replaceAll(/[,\s]/g, '');
  if (text.trimStart().startsWith('[')) {
    try {
      const chunks: unknown = JSON.parse(text.replaceAll("'", '"'));
      if (!Array.isArray(chunks)) return null;
      const letters = chunks.map((chunk: unknown) =>
        Array.isArray(chunk)
          ? chunk.map((word: unknown) => LAYOUT_WORDS[String(word).trim().toLowerCase()] ?? '?').join('')
          : '?',
      );
      return letters.some((chunk) => chunk.includes('?')) ? null : letters;
    } catch {
      return null;
    }
  }
  let written: string | null = plain;
  for (const repeated of [/\(([^()]+)\)\*(\d{1,5})/g, /(.)\*(\d{1,5})/g]) written = repeatAll(written, repeated);
  return written !== null && /^[Etm|L]+$/.test(written) ? written.split('|') : null;
}

function repeatAll(text: string | null, repeated: RegExp): string | null {
  if (text === null) return null;
  const grown = [...text.matchAll(repeated)].reduce((size, [, body, times]) => size + body!.length * Number(times), 0);
  if (grown > MOST_LAYOUT) return null;
  return text.replaceAll(repeated, (_, body: string, times: string) => body.repeat(Number(times)));
}

export interface LayoutOptions extends Pick<SplitOptions, 'layers' | 'pp'> {
  readonly layout: string;
  readonly mtpLayers: number;
}

/** What {@link readLayout} read, as stages; `mtpStage`: the stage of the MTP depths. */
export interface LayoutSplit {
  readonly split: StageSplit;
  readonly mtpStage: number;
}

/** Throws MBF1001 for a layout that is none, or that does not hold the model. */
export function layoutStages({ layout, layers, pp, mtpLayers }: LayoutOptions): LayoutSplit {
  const refuse = (why: string): never => {
    throw new MbfError('MBF1001', `pipeline_model_parallel_layout ${JSON.stringify(layout)} ${why} (pp-layout)`);
  };
  const chunks = readLayout(layout) ?? refuse('cannot be read');
  const all = chunks.join('');
  const count = (letter: string): number => all.split(letter).length - 1;
  if (chunks.length % pp !== 0) refuse(`has ${chunks.length} chunks, no multiple of pp ${pp}`);
  if (!all.startsWith('E') || !all.endsWith('L') || count('E') !== 1 || count('L') !== 1)
    refuse('does not begin with the one embedding and end with the one loss');
  if (count('t') !== layers) refuse(`has ${count('t')} layers for num_layers ${layers}`);
  if (count('m') !== mtpLayers) refuse(`has ${count('m')} MTP depths for mtp_num_layers ${mtpLayers}`);
  const mtp = chunks.findIndex((chunk) => chunk.includes('m'));
  const split = chunksOfCounts(
    chunks.map((chunk) => chunk.split('t').length - 1),
    pp,
  );
  return { split, mtpStage: mtp === -1 ? pp - 1 : mtp % pp };
}

/** Layers counted by stage, dealt to chunks. Throws MBF1001 where a stage's layers are not a multiple of its chunks. */
export function dealLayers(counts: readonly number[], vpp: number | null): StageSplit {
  const chunks = vpp ?? 1;
  const uneven = counts.findIndex((count) => count % chunks !== 0);
  if (uneven >= 0)
    throw new MbfError(
      'MBF1001',
      `the ${counts[uneven]} layers of stage ${uneven} are not a multiple of vpp ${chunks}`,
    );
  const split: number[][][] = counts.map(() => []);
  let layer = 0;
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    for (const [stage, count] of counts.entries()) {
      split[stage]!.push(Array.from({ length: count / chunks }, () => layer++));
    }
  }
  return split;
}
