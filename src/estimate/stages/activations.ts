/**
 * Activations that a stage holds when most micro-batches are under way: the inventory of a layer, less what is
 * recomputed or offloaded.
 */
import { maxOf } from '../../model/lists.js';
import type { EstimateInputs } from '../inputs.js';
import { type Amount, exactly, NOTHING, type Part, part, sum, times } from './amount.js';
import type { Stage } from './layout.js';
import { layerTensors, type SavedTensor, tokenSizes } from './saved-tensors.js';
import type { Settings } from './settings.js';

/** What a layer of one kind keeps and drops, of one micro-batch. */
export interface LayerActivations {
  readonly kept: Amount;
  /** Recomputed in its backward pass, one layer at a time. */
  readonly dropped: Amount;
  readonly offloaded: Amount;
  readonly all: Amount;
  /** All that remains of a layer that is recomputed from its input. */
  readonly input: Amount;
  /** Bytes of the second half that are there in its backward pass, kept or recomputed. */
  readonly mlpBytes: number;
}

export function layerActivations(inputs: EstimateInputs, settings: Settings, isMoe: boolean): LayerActivations {
  const tensors = layerTensors(inputs, settings, isMoe);
  const { recompute } = settings;
  const isDropped = (tensor: SavedTensor): boolean =>
    recompute.kind === 'selective' && tensor.droppedBy.some((module) => recompute.modules.has(module));
  const moved = (tensor: SavedTensor): number =>
    tensor.offload !== null && settings.offloadModules.has(tensor.offload) ? settings.offloadFraction : 0;
  const staying = tensors.filter((tensor) => !isDropped(tensor));
  const shrunk = inputs.given.distribute_saved_activations === true ? 1 / inputs.tp : 1;
  return {
    kept: sum(staying.map((tensor) => times(tensor, 1 - moved(tensor)))),
    dropped: sum(tensors.filter(isDropped)),
    offloaded: sum(staying.map((tensor) => times(tensor, moved(tensor)))),
    all: sum(tensors),
    input: times(tensors[0] ?? NOTHING, shrunk),
    mlpBytes: sum(tensors.filter(({ isOfMlp }) => isOfMlp)).bytes,
  };
}

/** Layers of one chunk as `full` recompute groups them: those that keep their input, those that keep all. */
function fullRecompute(
  layers: readonly number[],
  { method, layers: size }: { readonly method: 'uniform' | 'block'; readonly layers: number },
): { readonly inputs: number; readonly whole: readonly number[] } {
  if (method === 'uniform') return { inputs: Math.ceil(layers.length / size), whole: [] };
  return { inputs: Math.min(size, layers.length), whole: layers.slice(size) };
}

export interface StageActivations {
  readonly parts: readonly Part[];
  /** Passes of a whole stage under way, as a number of micro-batches. */
  readonly inFlight: number;
  /** Layers of the chunk whose backward pass comes first, with what each keeps of one micro-batch. */
  readonly lastChunk: readonly { readonly isMoe: boolean; readonly activations: LayerActivations }[];
}

export function stageActivations(inputs: EstimateInputs, settings: Settings, stage: Stage): StageActivations {
  const dense = layerActivations(inputs, settings, false);
  const moe = inputs.experts === null ? dense : layerActivations(inputs, settings, true);
  const kindOf = (layer: number): LayerActivations => (inputs.isMoeLayer[layer] === true ? moe : dense);
  const chunks = withMtp(inputs, stage);
  const held: Amount[] = [];
  let layerPasses = 0;
  for (const [chunk, layers] of chunks.entries()) {
    const passes = stage.inFlight[chunk] ?? 0;
    layerPasses += passes * layers.length;
    held.push(times(chunkActivations(layers, kindOf, settings), passes));
  }
  const received = receivedInputs(inputs, settings, stage, chunks);
  const layerCount = chunks.reduce((count, layers) => count + layers.length, 0);
  const inFlight = layerCount === 0 ? 0 : layerPasses / layerCount;
  const parts = [
    part(
      'activation',
      'saved tensors of layers',
      less(sum(held), received),
      `${figure(inFlight)} micro-batches of ${layerCount} layers under way, ${basisOf(settings)}`,
    ),
    ...receivedParts(received),
    ...edgeParts(inputs, settings, stage),
    ...recomputeParts(settings, chunks, kindOf),
    ...offloadParts(settings, chunks, kindOf),
  ];
  const lastChunk = (chunks.at(-1) ?? []).map((layer) => ({
    isMoe: inputs.isMoeLayer[layer] === true,
    activations: kindOf(layer),
  }));
  return { parts: parts.filter(({ high }) => high > 0), inFlight, lastChunk };
}

/** Bytes of first layers' inputs that another stage sent: they are buffers of the exchange. */
function receivedInputs(
  inputs: EstimateInputs,
  settings: Settings,
  stage: Stage,
  chunks: readonly (readonly number[])[],
): number {
  // Inputs that are cut or moved to the host are copies, which the layer makes.
  if (settings.layersOnHost > 0 || settings.offloadModules.has('attn_norm')) return 0;
  if (inputs.given.distribute_saved_activations === true) return 0;
  const passes = chunks.reduce(
    (count, layers, chunk) =>
      layers.length === 0 || (stage.isFirst && chunk === 0) ? count : count + (stage.inFlight[chunk] ?? 0),
    0,
  );
  return passes * settings.elementBytes * tokenSizes(inputs).sequenceTokens * inputs.hidden;
}

function receivedParts(bytes: number): Part[] {
  if (bytes === 0) return [];
  return [
    part(
      'communication',
      'received inputs',
      exactly(bytes),
      'what the stage before sent, the first layer’s saved input',
    ),
  ];
}

function less({ bytes, low, high }: Amount, taken: number): Amount {
  return { bytes: bytes - taken, low: low - taken, high: high - taken };
}

/** MTP depths run after the last layer, in the last chunk of the last stage, as layers of its kind. */
function withMtp({ layers, mtpLayers }: EstimateInputs, stage: Stage): readonly (readonly number[])[] {
  if (!stage.hasMtp) return stage.chunks;
  const extra = new Array<number>(mtpLayers).fill(layers - 1);
  return stage.chunks.map((chunk, index) => (index === stage.chunks.length - 1 ? [...chunk, ...extra] : chunk));
}

function chunkActivations(
  layers: readonly number[],
  kindOf: (layer: number) => LayerActivations,
  settings: Settings,
): Amount {
  const { recompute } = settings;
  if (recompute.kind !== 'full') {
    // Offloaded layers are the first ones of the chunk: `get_cpu_offload_context` counts from there.
    return sum(layers.slice(settings.layersOnHost).map((layer) => kindOf(layer).kept));
  }
  const { inputs, whole } = fullRecompute(layers, recompute);
  const input = layers[0] === undefined ? NOTHING : kindOf(layers[0]).input;
  return sum([times(input, inputs), ...whole.map((layer) => kindOf(layer).all)]);
}

function basisOf({ recompute, keepsScores }: Settings): string {
  const attention = keepsScores ? 'scores of attention kept' : 'flash or fused attention';
  switch (recompute.kind) {
    case 'none':
      return `nothing recomputed, ${attention}`;
    case 'selective':
      return `recomputed: ${[...recompute.modules].join(', ') || 'nothing'}; ${attention}`;
    case 'full':
      return `full recompute (${recompute.method}, ${recompute.layers})`;
  }
}

function figure(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** Bytes of a token id, a label, a position (int64) and a loss mask (fp32): what the data loader puts on the device. */
const INPUT_BYTES = 8 + 8 + 8 + 4;

/**
 * What only the first and the last stage keep: the batch itself, the embedding's dropout, input and output of the final
 * norm.
 */
function edgeParts(inputs: EstimateInputs, settings: Settings, stage: Stage): Part[] {
  const { tokens, sequenceTokens } = tokenSizes(inputs);
  const batches = Math.max(0, maxOf(stage.inFlight));
  const parts: Part[] = [];
  if (stage.isFirst || stage.isLast)
    parts.push(
      part(
        'input',
        'batches',
        exactly(INPUT_BYTES * tokens * batches),
        `${INPUT_BYTES} bytes a token of ${batches} micro-batches`,
      ),
    );
  if (inputs.given.create_attention_mask_in_dataloader === true && (stage.isFirst || stage.isLast))
    parts.push(
      part(
        'input',
        'attention mask of the batch',
        exactly(inputs.microBatch * inputs.seq * (inputs.seq / inputs.cp)),
        '1 byte for each pair of positions of a micro-batch',
      ),
    );
  if (stage.isFirst && settings.hasHiddenDropout)
    parts.push(
      part(
        'activation',
        'dropout of the embedding',
        exactly(sequenceTokens * inputs.hidden * (stage.inFlight[0] ?? 0)),
        'a mask of 1 byte an element',
      ),
    );
  if (stage.isLast)
    parts.push(
      part(
        'activation',
        'final norm',
        exactly(2 * settings.elementBytes * sequenceTokens * inputs.hidden * (1 + inputs.mtpLayers)),
        'its input, and its output for the output layer’s weight gradient',
      ),
    );
  return parts;
}

/** What a backward pass computes again is there once: of one layer, or of one group of layers. */
function recomputeParts(
  { recompute }: Settings,
  chunks: readonly (readonly number[])[],
  kindOf: (layer: number) => LayerActivations,
): Part[] {
  if (recompute.kind === 'none') return [];
  const layers = chunks.flat();
  const largest = (of: (kind: LayerActivations) => Amount): Amount =>
    layers.map((layer) => of(kindOf(layer))).reduce((a, b) => (b.bytes > a.bytes ? b : a), NOTHING);
  if (recompute.kind === 'selective') {
    const dropped = largest((kind) => kind.dropped);
    return [part('recompute', 'recomputed tensors', dropped, 'of one layer, during its backward pass')];
  }
  const group =
    recompute.method === 'uniform' ? Math.min(recompute.layers, Math.max(0, maxOf(chunks.map((c) => c.length)))) : 1;
  const whole = times(
    largest((kind) => kind.all),
    group,
  );
  return [
    part(
      'recompute',
      'recomputed layers',
      // The group's input is kept, not computed again.
      less(whole, recompute.method === 'uniform' ? largest((kind) => kind.input).bytes : 0),
      `${group} at a time, during their backward pass`,
    ),
  ];
}

/** Offloaded tensors are on their way for about one layer each way. */
function offloadParts(
  settings: Settings,
  chunks: readonly (readonly number[])[],
  kindOf: (layer: number) => LayerActivations,
): Part[] {
  const layers = chunks.flat();
  const first = layers[0];
  if (first === undefined || (settings.layersOnHost === 0 && settings.offloadModules.size === 0)) return [];
  const moved = settings.layersOnHost > 0 ? kindOf(first).all : kindOf(layers.at(-1) ?? first).offloaded;
  return [
    part(
      'offload_buffer',
      'activations on their way',
      { bytes: moved.bytes, low: 0, high: 2 * moved.high },
      'one layer’s on its way to or from host memory (none to two)',
    ),
  ];
}
