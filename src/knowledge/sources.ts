/** Sources of the knowledge: short names in data files, full names in answers. */
export const SOURCES = {
  mem: 'Megatron Bridge memory tuning skill',
  rec: 'Megatron Bridge activation recompute skill',
  off: 'Megatron Bridge CPU offloading skill',
  skills: 'Megatron Bridge skills',
  perf: 'NeMo and Megatron Bridge performance guides',
  nemo: 'NeMo performance guide',
  bridge: 'Megatron Bridge performance guide',
  docs: 'Megatron-Core documentation',
  moe: 'Megatron-Core MoE guide',
  upstream: 'Megatron upstream source',
} as const;

/** `mem, rec` and `mem; perf` in full. What is not a short name stays as it is. */
export function sourceText(source: string): string {
  return source.replaceAll(/[^,;]+/g, (part) => {
    const name = part.trim();
    return Object.hasOwn(SOURCES, name) ? part.replace(name, SOURCES[name as keyof typeof SOURCES]) : part;
  });
}
