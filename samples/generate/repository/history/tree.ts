/** The files of a commit, the submodule's under its path, and the changes that commits make to them. */
import type { FunctionDefinition, Statement } from '../language/ast.js';
import { parseModule } from '../language/parse.js';

/** Where the submodule lies, with a slash at the end. */
export const SUBMODULE = '3rdparty/Megatron-LM/';
export const CONFIG_FILE = 'examples/llama3_8b.yaml';

/** Text by path. A commit has a map of its own; the texts are shared. */
export type Tree = Map<string, string>;

/** A text that stands exactly once in one file, wherever that file and the function around it have gone, and what comes in its place. */
export interface TextEdit {
  readonly find: string;
  readonly replace: string;
}

/** A key of the file of overrides; null as a value is YAML's, undefined takes the key out. */
export interface ConfigEdit {
  readonly key: string;
  readonly value: string | number | boolean | null | undefined;
}

export type Edit = TextEdit | ConfigEdit;

/** The path of the file that changed; throws where the text is not found exactly once. */
export function applyEdit(tree: Tree, edit: Edit): string {
  if ('key' in edit) {
    tree.set(CONFIG_FILE, withKey(tree.get(CONFIG_FILE)!, edit));
    return CONFIG_FILE;
  }
  const found = [...tree].filter(([path, text]) => path.endsWith('.py') && text.includes(edit.find));
  const [path, text] = found[0] ?? [];
  if (found.length !== 1 || path === undefined || text === undefined || text.split(edit.find).length !== 2) {
    throw new Error(`${JSON.stringify(edit.find)} stands in ${found.length} files, or more than once in one`);
  }
  tree.set(
    path,
    text.replace(edit.find, () => edit.replace),
  );
  return path;
}

/** Two levels: `section.name`. Comments and the order of lines stay. */
function withKey(text: string, { key, value }: ConfigEdit): string {
  const [section, name] = key.split('.') as [string, string];
  const lines = text.split('\n');
  const start = lines.indexOf(`${section}:`);
  if (start < 0) return `${text}${section}:\n  ${name}: ${String(value)}\n`;
  let end = start + 1;
  while (end < lines.length && lines[end]!.startsWith('  ')) end += 1;
  const at = lines.findIndex((line, i) => i > start && i < end && line.startsWith(`  ${name}:`));
  const line = `  ${name}: ${String(value)}`;
  if (value === undefined) {
    if (at < 0) throw new Error(`${key} is not set`);
    lines.splice(at, 1);
  } else if (at >= 0) lines[at] = line;
  else lines.splice(end, 0, line);
  return lines.join('\n');
}

export interface FoundFunction {
  readonly path: string;
  readonly definition: FunctionDefinition;
  readonly isMethod: boolean;
  /** 1-based, with its decorators. */
  readonly firstLine: number;
}

/** Functions and methods, nested ones left out; files that Python would refuse are passed over. */
export function functionsOf(tree: Tree, where: (path: string) => boolean): FoundFunction[] {
  const found: FoundFunction[] = [];
  for (const [path, text] of tree) {
    if (!path.endsWith('.py') || !where(path)) continue;
    let body: readonly Statement[];
    try {
      ({ body } = parseModule(text, path));
    } catch {
      continue;
    }
    const take = (statements: readonly Statement[], isMethod: boolean): void => {
      for (const statement of statements) {
        if (statement.kind === 'class') take(statement.body, true);
        if (statement.kind !== 'function') continue;
        const firstLine = statement.line - statement.decorators.length;
        found.push({ path, definition: statement, isMethod, firstLine });
      }
    };
    take(body, false);
  }
  return found;
}

export function isCore(path: string): boolean {
  return path.startsWith(SUBMODULE);
}

/** Lines of a text, the first being 1, replaced by others. */
export function replaceLines(text: string, from: number, to: number, by: readonly string[]): string {
  const lines = text.split('\n');
  lines.splice(from - 1, to - from + 1, ...by);
  return lines.join('\n');
}
