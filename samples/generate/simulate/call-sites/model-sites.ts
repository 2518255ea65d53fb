/** What a model chunk allocates around its layers: batch, embedding, output layer and loss. */
import type { CallPath } from '../code-line.js';
import { AUTOGRAD, at, MODULE_CALL, TE } from './sources.js';

export interface ModelSites {
  readonly batch: CallPath;
  readonly embedding: CallPath;
  /** Sequence parallelism: this rank's part of the embedded sequence. */
  readonly embeddingScatter: CallPath;
  readonly finalNorm: CallPath;
  /** Sequence parallelism: the output layer's input, whole, in the buffer all such calls share. */
  readonly logitsGather: CallPath;
  /** cuBLAS' workspace of torch's own matrix products, born in the first of them. */
  readonly cublasWorkspace: CallPath;
  readonly logits: CallPath;
  readonly lossLogits: CallPath;
  readonly loss: CallPath;
}

/** `block` begins at the model's call of its transformer block. */
export interface ModelFrames {
  /** Layers without full recomputation. */
  readonly plainLayers: CallPath;
  /** Layers inside a checkpointed region. */
  readonly checkpointedLayers: CallPath;
  readonly sites: ModelSites;
}

export function modelFrames(core: string, batch: CallPath, modelCall: CallPath, forwardStep: CallPath): ModelFrames {
  const outer: CallPath = [...modelCall, ...forwardStep];
  const gpt = `${core}models/gpt/gpt_model.py`;
  const block: CallPath = [...MODULE_CALL, at('forward', gpt, 497, 'hidden_states = self.decoder('), ...outer];
  const blockFile = `${core}transformer/transformer_block.py`;
  const postprocess = at('forward', gpt, 521, 'return self._postprocess(');
  const preprocess: CallPath = [
    ...MODULE_CALL,
    at(
      'forward',
      `${core}models/common/embeddings/language_model_embedding.py`,
      117,
      'word_embeddings = self.word_embeddings(input_ids)',
    ),
    ...MODULE_CALL,
    at('_preprocess', gpt, 341, 'decoder_input = self.embedding(input_ids=input_ids, position_ids=position_ids)'),
    at('forward', gpt, 478, 'preproc_output = self._preprocess('),
    ...outer,
  ];
  const layers = `${core}tensor_parallel/layers.py`;
  const outputLayer: CallPath = [
    at(
      'linear_with_grad_accumulation_and_async_allreduce',
      layers,
      728,
      'return LinearWithGradAccumulationAndAsyncCommunication.apply(*args)',
    ),
    at('forward', layers, 1018, 'output_parallel = self._forward_impl('),
    ...MODULE_CALL,
    at('_postprocess', gpt, 589, 'logits, _ = self.output_layer('),
    postprocess,
    ...outer,
  ];
  const crossEntropy: CallPath = [
    at(
      'vocab_parallel_cross_entropy',
      `${core}tensor_parallel/cross_entropy.py`,
      234,
      'return _VocabParallelCrossEntropy.apply(vocab_parallel_logits, target, label_smoothing)',
    ),
    at(
      'compute_language_model_loss',
      `${core}models/common/language_module/language_module.py`,
      131,
      'loss = tensor_parallel.vocab_parallel_cross_entropy(logits, labels)',
    ),
    at('_postprocess', gpt, 644, 'loss = self.compute_language_model_loss(labels, logits)'),
    postprocess,
    ...outer,
  ];
  const matmul = at('forward', layers, 447, 'output = torch.matmul(total_input, weight.t())');
  return {
    plainLayers: [at('forward', blockFile, 671, 'hidden_states, context = layer('), ...block],
    checkpointedLayers: [
      at('custom_forward', blockFile, 463, 'hidden_states, context = layer('),
      at('forward', `${core}tensor_parallel/random.py`, 521, 'outputs = run_function(*args)'),
      at(
        'checkpoint',
        `${core}tensor_parallel/random.py`,
        601,
        'return CheckpointFunction.apply(function, distribute_saved_activations, *args)',
      ),
      at('_checkpointed_forward', blockFile, 498, 'hidden_states, context = checkpoint_handler('),
      at('forward', blockFile, 638, 'hidden_states = self._checkpointed_forward('),
      ...block,
    ],
    sites: {
      batch: [...batch, ...forwardStep],
      embedding: [at('forward', layers, 292, 'output_parallel = self.weight[masked_input]'), ...preprocess],
      embeddingScatter: [
        at('_reduce_scatter_along_first_dim', `${core}tensor_parallel/mappings.py`, 195, 'output = torch.empty('),
        at(
          'reduce_scatter_to_sequence_parallel_region',
          `${core}tensor_parallel/mappings.py`,
          508,
          'return _ReduceScatterToSequenceParallelRegion.apply(',
        ),
        at('forward', layers, 304, 'output = reduce_scatter_to_sequence_parallel_region('),
        ...preprocess,
      ],
      finalNorm: [
        at('op_forward', `${TE}ops/basic/rmsnorm.py`, 201, 'y, _, rstdevs = rmsnorm_fwd('),
        ...MODULE_CALL,
        at(
          'forward',
          `${core}transformer/transformer_block.py`,
          702,
          'hidden_states = self.final_layernorm(hidden_states)',
        ),
        ...block,
      ],
      logitsGather: [
        at('get_tensor', `${core}utils.py`, 559, 'self.buffer[(name, dtype)] = torch.empty('),
        at(
          'forward',
          layers,
          439,
          'all_gather_buffer = get_global_memory_buffer().get_tensor(dim_size, input.dtype, "mpu")',
        ),
        ...outputLayer,
      ],
      cublasWorkspace: [matmul, ...outputLayer],
      logits: [matmul, ...outputLayer],
      lossLogits: [
        at(
          'calculate_logits_max',
          `${core}tensor_parallel/cross_entropy.py`,
          26,
          'vocab_parallel_logits = vocab_parallel_logits.float()',
        ),
        at(
          'forward',
          `${core}tensor_parallel/cross_entropy.py`,
          132,
          'vocab_parallel_logits, logits_max = VocabParallelCrossEntropy.calculate_logits_max(',
        ),
        ...crossEntropy,
      ],
      loss: [
        at(
          'calculate_cross_entropy_loss',
          `${core}tensor_parallel/cross_entropy.py`,
          88,
          'loss = torch.log(sum_exp_logits) - predicted_logits',
        ),
        at(
          'forward',
          `${core}tensor_parallel/cross_entropy.py`,
          169,
          ') = VocabParallelCrossEntropy.calculate_cross_entropy_loss(',
        ),
        ...crossEntropy,
      ],
    },
  };
}

/** Backward of the output layer. The loss gradient before it is made by autograd nodes written in C++, which have no Python frame. */
export function outputLayerBackward(core: string): CallPath {
  return [
    at('backward', `${core}tensor_parallel/layers.py`, 531, 'grad_input = grad_output.matmul(weight)'),
    ...AUTOGRAD,
  ];
}
