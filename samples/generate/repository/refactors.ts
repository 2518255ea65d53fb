/** Commits that change how a project looks and nothing of what its runs do. */
import { pick, type Random, wholeBetween } from '../simulate/random.js';
import { FACTS } from './facts.js';
import { CORE, type Part, type Project, partOf } from './project.js';

export const REFACTORS = [
  'shift',
  'comment',
  'rename_variable',
  'rename_function',
  'move_function',
  'move_file',
] as const;
export type Refactor = (typeof REFACTORS)[number];
export type Side = 'superproject' | 'submodule';

interface Found {
  readonly path: string;
  readonly at: number;
  readonly part: Part;
}

const fileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const isOf = (side: Side, path: string): boolean => path.startsWith(CORE) === (side === 'submodule');

/** Functions of the training program. */
function functionsOf(project: Project, side: Side): Found[] {
  return [...project]
    .filter(([path]) => isOf(side, path) && path.endsWith('.py') && !/^tests\/|recipes\//.test(path))
    .flatMap(([path, parts]) => parts.flatMap((part, at) => (part.name === null ? [] : [{ path, at, part }])));
}

/** The subject of the commit; another kind where nothing of the one asked for is left to do. */
export function refactor(kind: Refactor, random: Random, project: Project, side: Side): string {
  const make = { shift, comment, rename_variable, rename_function, move_function, move_file }[kind];
  return make(random, project, side) ?? rename_variable(random, project, side) ?? shift(random, project, side);
}

/** A helper or a comment above a function: everything below moves down. */
function shift(random: Random, project: Project, side: Side): string {
  const { path, at } = pick(random, functionsOf(project, side));
  const parts = project.get(path)!;
  const name = `_helper_${parts.length}`;
  const isFunction = random() < 0.6;
  const fresh = isFunction
    ? partOf(`def ${name}(value):\n    """Wraps a single item."""\n    return [value]`, name)
    : partOf(`# ${'-'.repeat(70)}\n# Used by the training loop\n# ${'-'.repeat(70)}`);
  project.set(path, parts.toSpliced(at, 0, fresh));
  return isFunction ? `Add ${name} to ${fileName(path)}` : `Sections in ${fileName(path)}`;
}

const COMMENTS = [
  '# The order matters here.',
  '# No copy is made.',
  '# Runs on the current stream.',
  '# Same on all ranks.',
];

function comment(random: Random, project: Project, side: Side): string | undefined {
  const { path, at, part } = pick(random, functionsOf(project, side));
  const before = part.lines.findIndex(({ id, text }) => id !== null && !text.trim().startsWith(')'));
  if (before < 0) return undefined;
  const lines = part.lines.toSpliced(before, 0, { text: `    ${pick(random, COMMENTS)}`, id: null });
  project.set(path, project.get(path)!.with(at, { ...part, lines }));
  return `Comment ${part.name}`;
}

function rename_variable(random: Random, project: Project, side: Side): string | undefined {
  const candidates = functionsOf(project, side).filter(({ part }) =>
    part.lines.some(({ text }) => /^ {4}\w+_options = /.test(text)),
  );
  if (candidates.length === 0) return undefined;
  const { path, at, part } = pick(random, candidates);
  const [name] = /\w+_options(?= = )/.exec(part.lines.map(({ text }) => text).join('\n'))!;
  const fresh = name.replace(/_options$/, `_config${wholeBetween(random, 1, 9)}`);
  const lines = part.lines.map((line) => ({ ...line, text: line.text.replaceAll(name, fresh) }));
  project.set(path, project.get(path)!.with(at, { ...part, lines }));
  return `Rename ${name} in ${part.name}`;
}

function rename_function(random: Random, project: Project, side: Side): string | undefined {
  const present = new Set(functionsOf(project, side).map(({ part }) => part.name));
  const names = Object.keys(FACTS.renamed).filter((name) => present.has(name));
  if (names.length === 0) return undefined;
  const name = pick(random, names);
  const fresh = FACTS.renamed[name]!;
  const renamed = (part: Part): Part => ({
    name: part.name === name ? fresh : part.name,
    lines: part.lines.map((line) => ({ ...line, text: line.text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), fresh) })),
  });
  for (const [path, parts] of project)
    if (isOf(side, path) && path.endsWith('.py')) project.set(path, parts.map(renamed));
  return `Rename ${name} to ${fresh}`;
}

/** Into a file of helpers in the same directory, which its own file imports it from. */
function move_function(random: Random, project: Project, side: Side): string | undefined {
  const movable = new Set([...Object.keys(FACTS.renamed), ...Object.values(FACTS.renamed)]);
  const candidates = functionsOf(project, side).filter(
    ({ path, part }) => movable.has(part.name!) && !path.includes('_helpers'),
  );
  if (candidates.length === 0) return undefined;
  const { path, at, part } = pick(random, candidates);
  const to = path.replace(/\.py$/, '_helpers.py');
  project.set(to, [...(project.get(to) ?? [partOf('"""Helpers."""\n\nimport torch')]), part]);
  const imported = partOf(`from ${moduleOf(to)} import ${part.name}`);
  project.set(path, project.get(path)!.toSpliced(at, 1).toSpliced(1, 0, imported));
  return `Move ${part.name} to ${fileName(to)}`;
}

function moduleOf(path: string): string {
  return path
    .replace(CORE, '')
    .replace(/^src\/|\.py$/g, '')
    .replaceAll('/', '.');
}

function move_file(random: Random, project: Project, side: Side): string | undefined {
  const prefix = side === 'submodule' ? CORE : '';
  const candidates = Object.entries(FACTS.moved).filter(([from]) => project.has(prefix + from));
  if (candidates.length === 0) return undefined;
  const [from, to] = pick(random, candidates);
  project.set(prefix + to, project.get(prefix + from)!);
  project.delete(prefix + from);
  return `Move ${fileName(from)} to ${to}`;
}

/** Text that is not program: documentation, tests. */
export function editText(random: Random, project: Project, kind: 'docs' | 'tests'): string {
  const path =
    kind === 'docs' ? pick(random, ['README.md', 'docs/performance-guide.md']) : 'tests/unit_tests/test_losses.py';
  const parts = project.get(path)!;
  const number = parts.length;
  const more =
    kind === 'docs'
      ? `* Golden values of week ${number} are in.`
      : `def test_case_${number}():\n    assert ${number} > 0`;
  project.set(path, [...parts, partOf(more)]);
  return `Update ${fileName(path)}`;
}
