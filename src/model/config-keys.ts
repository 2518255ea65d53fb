/**
 * One name for one setting, however Megatron-LM, Megatron Bridge, NeMo or DeepSpeed spell it. Canonical names are Megatron-Core's
 * dataclass fields in snake case; the dictionary lists what else they are called.
 */
export interface ConfigKey {
  readonly key: string;
  /** Other spellings: the last part of a path in snake case, or a path with dots where the last part alone would be ambiguous. */
  readonly aliases: readonly string[];
}

export const CONFIG_KEYS: readonly ConfigKey[] = [
  { key: 'tensor_model_parallel_size', aliases: ['tensor_parallel_size', 'tp_size'] },
];

const BY_ALIAS: ReadonlyMap<string, string> = new Map(
  CONFIG_KEYS.flatMap(({ key, aliases }) => [key, ...aliases].map((alias): [string, string] => [alias, key])),
);

/**
 * `--tensor-model-parallel-size`, `model.tensor_model_parallel_size` → `tensor_model_parallel_size`. A key the dictionary does not
 * know keeps its last part in snake case.
 */
export function canonicalConfigKey(rawKey: string): string {
  const path = rawKey.replace(/^-+/, '').replaceAll('-', '_');
  const last = path.slice(path.lastIndexOf('.') + 1);
  return BY_ALIAS.get(path) ?? BY_ALIAS.get(last) ?? last;
}
