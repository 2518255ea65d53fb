/**
 * Upstream: Megatron-LM `megatron/training/vocab_utils.py`, Megatron Bridge `utils/vocab_utils.py`: the next multiple
 * of divisor × TP.
 */
export function padVocab(vocabSize: number, divisibleBy: number, tp: number): number {
  const multiple = divisibleBy * tp;
  return Math.ceil(vocabSize / multiple) * multiple;
}
