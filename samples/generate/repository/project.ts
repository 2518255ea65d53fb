/**
 * The files of a commit. Source files are made of the code lines that stacks of the simulated run name; every such line
 * keeps its identity while commits move, rename and change what is around it, so that a run can be shown with the lines
 * of any commit.
 */
import { BRIDGE } from '../simulate/call-sites/sources.js';
import type { CodeLine } from '../simulate/code-line.js';
import { type Edit, FACTS, type Setting } from './facts.js';
import { idOf, type Place } from './table.js';

export interface Line {
  readonly text: string;
  /** Has the text that the line had at first; null where nobody asks for the line. */
  readonly id: string | null;
}

/** A function with its `def` first, or what stands outside of all. */
export interface Part {
  readonly name: string | null;
  readonly lines: readonly Line[];
}

/** Parts by path. Each commit has a map of its own; parts are shared. */
export type Project = Map<string, readonly Part[]>;

export const CORE = '3rdparty/Megatron-LM/';
const OVERRIDES = 'examples/llama3_8b.yaml';
const RECIPE = 'src/megatron/bridge/recipes/llama/llama3.py';
const SCRIPTS = '/nemo_run/code/';
const CHECKOUT = BRIDGE.slice(0, BRIDGE.indexOf('src/'));

const plain = (text: string): Line => ({ text, id: null });
export const partOf = (text: string, name: string | null = null): Part => ({
  name,
  lines: text.trimEnd().split('\n').map(plain),
});
export const textOf = (parts: readonly Part[]): string =>
  `${parts.map(({ lines }) => lines.map(({ text }) => text).join('\n')).join('\n\n')}\n`;

/** The path in the repository; null for what is installed. */
function pathOf(filename: string): string | null {
  if (filename.startsWith(SCRIPTS)) return `scripts/${filename.slice(SCRIPTS.length)}`;
  return filename.startsWith(CHECKOUT) ? filename.slice(CHECKOUT.length) : null;
}

/** Every code line inside an object of call paths. */
function* codeLines(of: unknown): Generator<CodeLine> {
  if (typeof of !== 'object' || of === null) return;
  if ('filename' in of) yield of as CodeLine;
  else for (const inner of Object.values(of)) yield* codeLines(inner);
}

/** Methods of several classes in one file; other names belong to one function. */
const REPEATED = /^(?:__init__|forward|backward)$/;

/** The source files that hold all lines of these call paths. */
export function sourceFiles(paths: unknown): Project {
  const files = new Map<string, Map<string, CodeLine>>();
  for (const line of codeLines(paths)) {
    const path = pathOf(line.filename);
    if (path !== null) files.set(path, (files.get(path) ?? new Map<string, CodeLine>()).set(idOf(line), line));
  }
  const project: Project = new Map();
  for (const path of [...files.keys()].sort()) {
    const functions: CodeLine[][] = [];
    for (const line of [...files.get(path)!.values()].sort((a, b) => a.line - b.line)) {
      const own = functions.find(
        (one) => one[0]!.name === line.name && !(REPEATED.test(line.name) && line.line - one.at(-1)!.line > 100),
      );
      if (own === undefined) functions.push([line]);
      else own.push(line);
    }
    const title = path.slice(path.lastIndexOf('/') + 1, -3).replaceAll('_', ' ');
    const head = `# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.\n\n"""${title}"""\n\nimport torch`;
    project.set(path, [partOf(head), ...functions.map(functionOf)]);
  }
  return project;
}

function functionOf(code: readonly CodeLine[]): Part {
  const { name } = code[0]!;
  const lines =
    name === '<module>' ? [plain('if __name__ == "__main__":')] : [plain(`def ${name}(self, *args, **kwargs):`)];
  const local = `${name.replace(/\W|^_+|_+$/g, '')}_options`;
  if (name !== '<module>') {
    lines.push(plain(`    """${name.replace(/_+/g, ' ').trim()}: as the configuration says."""`));
    lines.push(plain(`    ${local} = self.config`), plain(`    assert ${local} is not None`));
  }
  for (const one of code) {
    for (const { above, line } of FACTS.lines)
      if (one.source.includes(above)) lines.push({ text: `    ${line}`, id: line });
    if (one.source.startsWith(')')) lines.push(plain('    ('), plain('        outputs,'));
    lines.push({ text: `    ${one.source}`, id: idOf(one) });
    if (one.source.endsWith('(')) lines.push(plain('        *args,'), plain('    )'));
  }
  return { name, lines };
}

// ---- settings

const pythonOf = (value: Setting): string =>
  value === null
    ? 'None'
    : value === true
      ? 'True'
      : value === false
        ? 'False'
        : /^torch\.|^[\d.]+$/.test(String(value))
          ? String(value)
          : `"${value}"`;
const settingFrom = (text: string): Setting => {
  const word = text.replaceAll('"', '');
  const known: Readonly<Record<string, Setting>> = {
    None: null,
    null: null,
    True: true,
    true: true,
    False: false,
    false: false,
  };
  return word in known ? known[word]! : word !== '' && Number.isFinite(Number(word)) ? Number(word) : word;
};

export function settingsFiles(shape: Readonly<Record<string, Setting>>): Project {
  const recipe = Object.entries(FACTS.recipe).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, value]) => `    cfg.${section}.${key} = ${pythonOf(value)}`),
  );
  const project: Project = new Map();
  project.set(RECIPE, [
    partOf(
      '# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.\n\n"""Recipes of Llama 3."""\n\nimport torch',
    ),
    partOf(
      `def llama3_8b_pretrain_config():\n    cfg = ConfigContainer()\n${recipe.join('\n')}\n    return cfg`,
      'llama3_8b_pretrain_config',
    ),
  ]);
  project.set(OVERRIDES, [partOf('# The nightly performance run: Llama 3 8B, cut to few layers.')]);
  for (const [section, keys] of Object.entries(FACTS.overrides)) {
    for (const [key, value] of Object.entries(keys)) set(project, `${section}.${key}`, value);
  }
  for (const [key, value] of Object.entries(shape)) set(project, key, value);
  return project;
}

/** Of the recipe, then of the overrides. */
export function settingsOf(project: Project): Map<string, Setting> {
  const settings = new Map<string, Setting>([['train.manual_gc', false]]);
  for (const { lines } of project.get(RECIPE)!) {
    for (const { text } of lines) {
      const [, key, value] = /^ {4}cfg\.(\S+) = (.*)$/.exec(text) ?? [];
      if (key !== undefined) settings.set(key, settingFrom(value!));
    }
  }
  let section = '';
  for (const { text } of project.get(OVERRIDES)![0]!.lines) {
    const [, indent, key, value] = /^( *)(\w+):(?: (.*))?$/.exec(text) ?? [];
    if (key === undefined) continue;
    if (indent === '') section = key;
    else settings.set(`${section}.${key}`, settingFrom(value!));
  }
  return settings;
}

function set(project: Project, key: string, value: Setting): void {
  const [section, name] = key.split('.') as [string, string];
  const [{ lines }] = project.get(OVERRIDES)! as [Part];
  const texts = lines.map(({ text }) => text);
  const start = texts.indexOf(`${section}:`);
  const line = `  ${name}: ${String(value)}`;
  if (start < 0) texts.push(`${section}:`, line);
  else {
    let end = start + 1;
    while (end < texts.length && texts[end]!.startsWith('  ')) end += 1;
    const at = texts.findIndex((text, i) => i > start && i < end && text.startsWith(`  ${name}:`));
    if (at >= 0) texts[at] = line;
    else texts.splice(end, 0, line);
  }
  project.set(OVERRIDES, [partOf(texts.join('\n'))]);
}

// ---- edits

/** Changes the lines of the one function that has a line like that; the path it is in. */
function change(
  project: Project,
  isWanted: (line: Line) => boolean,
  edit: (lines: Line[], at: number) => void,
): string {
  for (const [path, parts] of project) {
    if (!path.endsWith('.py')) continue;
    for (const [i, part] of parts.entries()) {
      const at = part.lines.findIndex(isWanted);
      if (at < 0) continue;
      const lines = [...part.lines];
      edit(lines, at);
      project.set(path, parts.with(i, { ...part, lines }));
      return path;
    }
  }
  throw new Error('no such line');
}

const indentOf = (text: string): string => /^ */.exec(text)![0];

/**
 * What the edit is to blame for: a path, and the line that came in or follows what went. Lines that come in get the
 * identity `id`.
 */
export function apply(
  project: Project,
  edit: Edit,
  id: string,
): { readonly path: string; readonly line: () => number } {
  const { above, add, swap, drop, set: settings } = edit;
  let path = OVERRIDES;
  let marked = id;
  if (above !== undefined && add !== undefined) {
    path = change(
      project,
      ({ id: own }) => own?.includes(above) === true,
      (lines, at) => lines.splice(at, 0, { text: `${indentOf(lines[at]!.text)}${add}`, id }),
    );
  }
  if (swap !== undefined) {
    path = change(
      project,
      (line) => line.id === swap[0] || line.text.trim() === swap[0],
      (lines, at) => {
        lines[at] = { text: `${indentOf(lines[at]!.text)}${swap[1]}`, id };
      },
    );
  }
  for (const text of drop ?? []) {
    path = change(
      project,
      (line) => line.id === text || line.text.trim() === text,
      (lines, at) => {
        lines.splice(at, 1);
        const after = lines[at] ?? lines[at - 1]!;
        marked = after.id ?? id;
        lines[lines.indexOf(after)] = { ...after, id: marked };
      },
    );
  }
  for (const [key, value] of Object.entries(settings ?? {})) set(project, key, value);
  const [first] = Object.keys(settings ?? {});
  const line = (): number => {
    const place = places(project).get(marked);
    if (place !== undefined) return place.line;
    const texts = project.get(OVERRIDES)![0]!.lines;
    return texts.findIndex(({ text }) => text.trim().startsWith(`${first?.split('.')[1]}:`)) + 1;
  };
  return { path, line };
}

/** Takes a line out that an edit has put in. */
export function remove(project: Project, id: string): void {
  change(
    project,
    (line) => line.id === id,
    (lines, at) => lines.splice(at, 1),
  );
}

/** Where every line with an identity is. */
export function places(project: Project): Map<string, Place> {
  const found = new Map<string, Place>();
  for (const [path, parts] of project) {
    let line = 1;
    for (const { name, lines } of parts) {
      for (const { id, text } of lines) {
        if (id !== null) found.set(id, { path, line, name: name ?? '<module>', text: text.trim() });
        line += 1;
      }
      line += 1;
    }
  }
  return found;
}
