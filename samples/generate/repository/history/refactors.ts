/** Commits that change how code looks and nothing of what it does: lines shift, names change, functions and files move. */
import { pick, type Random } from '../../simulate/random.js';
import type { Statement } from '../language/ast.js';
import { type FoundFunction, functionsOf, isCore, replaceLines, SUBMODULE, type Tree } from './tree.js';

export const REFACTORS = [
  'shift',
  'comment',
  'rename_variable',
  'rename_function',
  'move_function',
  'move_file',
] as const;
export type Refactor = (typeof REFACTORS)[number];

export interface RefactorOptions {
  readonly random: Random;
  readonly tree: Tree;
  readonly side: 'superproject' | 'submodule';
  /** Functions whose text some later commit looks for. */
  readonly isProtected: (name: string) => boolean;
}

/** The subject of the commit; undefined where nothing of that kind is left to do. */
export function refactor(kind: Refactor, options: RefactorOptions): string | undefined {
  return { shift, comment, rename_variable, rename_function, move_function, move_file }[kind](options);
}

/** Tests and scripts are not what a run allocates in, and the configuration's sections are not moved. */
function ownFunctions({ tree, side }: RefactorOptions): FoundFunction[] {
  const isOwn = (path: string): boolean => isCore(path) === (side === 'submodule') && !path.startsWith('tests/');
  return functionsOf(tree, isOwn);
}

const fileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

// ---- lines

const HELPERS: readonly (readonly [string, readonly string[]])[] = [
  [
    '_is_power_of_two',
    ['(value):', '    """Whether a size is a power of two."""', '    return value in (1, 2, 4, 8, 16, 32, 64, 128)'],
  ],
  [
    '_as_list',
    ['(value):', '    """Wraps a single item."""', '    if value is None:', '        return []', '    return [value]'],
  ],
  [
    '_clamp',
    ['(value, low, high):', '    """Keeps a number in its bounds."""', '    return max(low, min(high, value))'],
  ],
  [
    '_describe',
    [
      '(name, value):',
      '    """A line for debugging."""',
      '    # Only for people: nothing parses this.',
      '    text = str(name)',
      '    return text + str(value)',
    ],
  ],
  ['_next_multiple', ['(value, of):', '    """Rounds up."""', '    return (value + of - 1) // of * of']],
];

/** A helper or a comment above a function: everything below moves down. */
function shift(options: RefactorOptions): string | undefined {
  const { random, tree } = options;
  const place = pick(random, topLevel(ownFunctions(options)));
  const text = tree.get(place.path)!;
  const free = HELPERS.filter(([name]) => !text.includes(name));
  const fresh = free.length > 0 && random() < 0.6 ? pick(random, free) : undefined;
  const lines =
    fresh === undefined
      ? [
          '# -----------------------------------------------------------------------------',
          `# ${pick(random, SECTION_TITLES)}`,
          '# -----------------------------------------------------------------------------',
          '',
        ]
      : [`def ${fresh[0]}${fresh[1][0]}`, ...fresh[1].slice(1), '', ''];
  tree.set(place.path, replaceLines(text, place.firstLine, place.firstLine - 1, lines));
  return fresh === undefined ? `Sections in ${fileName(place.path)}` : `Add ${fresh[0]} to ${fileName(place.path)}`;
}

const SECTION_TITLES = [
  'Internals',
  'Used by the training loop',
  'Everything below runs on every rank',
  'Public functions',
];

function topLevel(functions: readonly FoundFunction[]): FoundFunction[] {
  return functions.filter(({ isMethod }) => !isMethod);
}

const COMMENTS = [
  '# The order matters here: see the performance guide.',
  '# No copy is made.',
  '# TODO: revisit once the minimum torch version is 2.9.',
  '# Runs on the current stream.',
  '# Same on all ranks.',
];

/** Comments between the statements of a function. */
function comment(options: RefactorOptions): string | undefined {
  const { random, tree } = options;
  const { path, definition } = pick(random, ownFunctions(options));
  const isDocstring = ({ kind, line }: Statement): boolean => kind === 'expression' && line === definition.line + 1;
  const statement = pick(
    random,
    definition.body.length > 1 ? definition.body.filter((one) => !isDocstring(one)) : definition.body,
  );
  const text = tree.get(path)!;
  const indent = /^\s*/.exec(text.split('\n')[statement.line - 1]!)![0];
  const lines = [pick(random, COMMENTS), ...(random() < 0.5 ? [pick(random, COMMENTS)] : [])];
  tree.set(
    path,
    replaceLines(
      text,
      statement.line,
      statement.line - 1,
      lines.map((line) => indent + line),
    ),
  );
  return `Comment ${definition.name}`;
}

// ---- names

/** Names a function binds by assignment; a parameter's name belongs to its callers too. */
function localNames({ definition, path }: FoundFunction, tree: Tree): string[] {
  const names = new Set<string>();
  const walk = (body: readonly Statement[]): void => {
    for (const statement of body) {
      if (statement.kind === 'assign' && statement.target.kind === 'name') names.add(statement.target.name);
      if (statement.kind === 'for') walk(statement.body);
      if (statement.kind === 'with') walk(statement.body);
      if (statement.kind === 'if') walk([...statement.body, ...statement.orElse]);
    }
  };
  walk(definition.body);
  for (const { name } of definition.parameters) names.delete(name);
  const text = linesOf(tree.get(path)!, definition.line, definition.endLine);
  // `f(name=…)` is somebody else's name.
  return [...names].filter((name) => !new RegExp(`[(,]\\s*${name}=`).test(text));
}

function linesOf(text: string, from: number, to: number): string {
  return text
    .split('\n')
    .slice(from - 1, to)
    .join('\n');
}

const NEW_NAMES: readonly ((name: string) => string)[] = [
  (name) => `${name}_`,
  (name) => `new_${name}`,
  (name) => `${name}_tensor`,
  (name) => `local_${name}`,
];

function rename_variable(options: RefactorOptions): string | undefined {
  const { random, tree, isProtected } = options;
  const candidates = ownFunctions(options).flatMap((place) =>
    isProtected(place.definition.name) ? [] : localNames(place, tree).map((name) => ({ place, name })),
  );
  const { place, name } = pick(random, candidates);
  const { path, definition } = place;
  const text = tree.get(path)!;
  const own = linesOf(text, definition.line, definition.endLine);
  const fresh = pick(random, NEW_NAMES)(name);
  if (new RegExp(`\\b${fresh}\\b`).test(own)) return undefined;
  const renamed = own.replaceAll(new RegExp(`(?<![\\w."])${name}(?![\\w"])`, 'g'), fresh);
  tree.set(path, replaceLines(text, definition.line, definition.endLine, renamed.split('\n')));
  return `Rename ${name} in ${definition.name}`;
}

/** What may be called otherwise: nothing that the names of released versions give a meaning to. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['_recomputes_core_attention', '_should_recompute_core_attention'],
  ['_build_layer', '_make_layer'],
  ['_checkpointed_attention_forward', '_recomputed_attention_forward'],
  ['_activation', '_apply_activation'],
  ['_map_parameters', '_place_parameters'],
  ['_grad_dtype', '_gradient_dtype'],
  ['_shard_size', '_owned_elements'],
  ['_grads_for_norm', '_gradients_for_norm'],
  ['swiglu', 'swiglu_forward'],
  ['swiglu_back', 'swiglu_backward'],
  ['bias_swiglu_impl', 'bias_swiglu'],
  ['_bias_dropout_add_func', '_add_residual'],
  ['bias_dropout_add_fused_train', 'residual_add_fused'],
  ['log_single_rank', 'log_once'],
  ['_num_microbatches', '_count_microbatches'],
  ['_create_loss_function', '_make_loss_function'],
  ['_format_losses', '_caption'],
  ['_print_num_params', '_report_num_params'],
  ['_set_random_seed', '_seed_everything'],
  ['_dataset_of', '_build_dataset'],
  ['_llama3_common', '_llama3_base_config'],
  ['reduce_losses', 'average_losses'],
  ['check_weight_hashes', 'compare_weight_hashes'],
  ['maybe_dump_memory_snapshot', 'dump_memory_snapshot_if_due'],
]);

function rename_function(options: RefactorOptions): string | undefined {
  const { random, tree, side, isProtected } = options;
  const present = new Set(ownFunctions(options).map(({ definition }) => definition.name));
  const candidates = [...RENAMED].filter(([name]) => present.has(name) && !isProtected(name));
  if (candidates.length === 0) return undefined;
  const [name, fresh] = pick(random, candidates);
  for (const [path, text] of tree) {
    if (path.endsWith('.py') && isCore(path) === (side === 'submodule')) {
      tree.set(path, text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), fresh));
    }
  }
  return `Rename ${name} to ${fresh}`;
}

// ---- places

/** Functions that need nothing from their file but its imports. */
const MOVABLE: readonly string[] = [
  'swiglu',
  'swiglu_back',
  '_bias_dropout_add_func',
  'calculate_loss',
  'detach_variable',
  'reduce_losses',
  'masked_next_token_loss',
  'check_weight_hashes',
  '_set_random_seed',
  '_num_microbatches',
  '_print_num_params',
];

/** Into a file of helpers beside its own, which imports it from there. */
function move_function(options: RefactorOptions): string | undefined {
  const { random, tree, isProtected } = options;
  const wanted = new Set(MOVABLE.flatMap((name) => [name, RENAMED.get(name) ?? name]));
  const candidates = topLevel(ownFunctions(options)).filter(
    ({ path, definition }) =>
      wanted.has(definition.name) && !isProtected(definition.name) && !/_helpers\.py$/.test(path),
  );
  if (candidates.length === 0) return undefined;
  const { path, definition, firstLine } = pick(random, candidates);
  const text = tree.get(path)!;
  const block = linesOf(text, firstLine, definition.endLine);
  const to = path.replace(/\.py$/, '_helpers.py');
  const existing = tree.get(to);
  const imports = text
    .split('\n')
    .filter((line) => /^(?:import|from) [^(]+$/.test(line) && !line.startsWith(`from ${moduleName(to)} `))
    .filter((line) => importedNames(line).some((name) => new RegExp(`\\b${name}\\b`).test(block)))
    .filter((line) => existing === undefined || !existing.includes(line));
  const head = existing ?? `${text.split('\n')[0]}\n\n"""Helpers of ${fileName(path)}."""\n`;
  const headLines = head.trimEnd().split('\n');
  const afterDocstring = headLines.findIndex((line) => line.startsWith('"""')) + 1;
  headLines.splice(afterDocstring, 0, ...(imports.length > 0 ? ['', ...imports] : []));
  tree.set(to, `${headLines.join('\n')}\n\n\n${block}\n`);
  const rest = replaceLines(text, firstLine, definition.endLine + 2, []).split('\n');
  const lastImport = rest.findLastIndex((line) => /^(?:import|from) /.test(line));
  const at = lastImport < 0 ? rest.findIndex((line) => line.startsWith('"""')) + 1 : endOfImport(rest, lastImport) + 1;
  rest.splice(at, 0, ...(lastImport < 0 ? [''] : []), `from ${moduleName(to)} import ${definition.name}`);
  tree.set(path, `${rest.join('\n').trimEnd()}\n`);
  return `Move ${definition.name} to ${fileName(to)}`;
}

/** An import in parentheses ends some lines further down. */
function endOfImport(lines: readonly string[], from: number): number {
  if (!lines[from]!.includes('(')) return from;
  return lines.findIndex((line, i) => i > from && line.startsWith(')'));
}

function importedNames(line: string): string[] {
  return line
    .replace(/^from \S+ import /, '')
    .replace(/^import /, '')
    .split(',')
    .map((part) => part.split(' as ').at(-1)!.trim().split('.')[0]!);
}

function moduleName(path: string): string {
  return path
    .replace(SUBMODULE, '')
    .replace(/^src\//, '')
    .replace(/\.py$/, '')
    .replaceAll('/', '.');
}

const MOVED_FILES: readonly (readonly [string, string])[] = [
  ['megatron/core/fusions/fused_bias_dropout.py', 'megatron/core/fusions/bias_dropout_add.py'],
  ['megatron/core/fusions/fused_bias_swiglu.py', 'megatron/core/activations/gated.py'],
  ['megatron/core/jit.py', 'megatron/core/fusions/jit.py'],
  ['megatron/core/models/common/embeddings/rope_utils.py', 'megatron/core/models/common/embeddings/rotary_utils.py'],
  ['src/megatron/bridge/training/utils/log_utils.py', 'src/megatron/bridge/training/utils/logging/losses.py'],
  ['src/megatron/bridge/training/utils/train_utils.py', 'src/megatron/bridge/training/utils/debug_utils.py'],
  ['src/megatron/bridge/training/losses.py', 'src/megatron/bridge/training/loss_functions.py'],
  ['src/megatron/bridge/data/loaders.py', 'src/megatron/bridge/data/iterators.py'],
  ['src/megatron/bridge/models/gpt_provider.py', 'src/megatron/bridge/models/gpt/provider.py'],
];

function move_file({ random, tree, side }: RefactorOptions): string | undefined {
  const prefix = side === 'submodule' ? SUBMODULE : '';
  const candidates = MOVED_FILES.filter(([from]) => tree.has(prefix + from));
  if (candidates.length === 0) return undefined;
  const [from, to] = pick(random, candidates);
  tree.set(prefix + to, tree.get(prefix + from)!);
  tree.delete(prefix + from);
  const [old, fresh] = [moduleName(from), moduleName(to)];
  for (const [path, text] of tree) {
    if (!path.endsWith('.py') || !text.includes(old)) continue;
    tree.set(path, text.replaceAll(new RegExp(`\\b${old.replaceAll('.', '\\.')}(?![\\w])`, 'g'), fresh));
  }
  return `Move ${fileName(from)} to ${to.replace(/^src\//, '')}`;
}
