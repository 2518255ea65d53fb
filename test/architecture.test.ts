/** Which folder may import which. A new arrow is a decision, so it fails here first. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import jsTokens from 'js-tokens';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** What every topic of src/derive and src/findings may import. */
const BELOW_TOPICS = [
  'src/model',
  'src/store',
  'queries',
  'src/allocator',
  'src/attribution',
  'src/estimate',
  'src/knowledge',
];

/** Topics of src/derive; each may import those before it. The list of steps, at its top, imports all. */
const DERIVED = [
  ...['run', 'stacks', 'trace', 'nsys', 'outside', 'settings', 'lint', 'state', 'attribution', 'estimate', 'measure'],
  ...['replay', 'verdict'],
];

/**
 * Topics of src/findings that read facts of a run; each may import those before it. Every other topic imports facts
 * only: two of them meet in `flows`, which may import all.
 */
const FACTS = [
  'run',
  'stacks',
  'trace',
  'nsys',
  'outside',
  'settings',
  'lint',
  'state',
  'attribution',
  'diff',
  'measure',
];

/** Folder → folders it may import, besides itself. `parsers/*` is one format, `parsers` their registry. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  // Types of rows, which results print as they are, and the layouts of tables.
  'src/model': ['queries'],
  'src/knowledge': ['src/model'],
  'src/text': ['src/model', 'src/knowledge'],
  'src/sqlite': ['src/model'],
  'src/wasm': ['src/model'],
  'parsers/*': ['src/model', 'src/text', 'src/sqlite', 'src/wasm', 'src/knowledge'],
  parsers: ['src/model', 'parsers/*'],
  'src/allocator': ['src/model'],
  // Rules of users are YAML, which only src/text reads.
  'src/attribution': ['src/model', 'src/text', 'src/knowledge', 'src/allocator'],
  'src/estimate': ['src/model', 'src/knowledge'],
  // Starts git.
  'src/git': ['src/model'],
  'src/store': ['src/model', 'queries'],
  'src/derive': [...BELOW_TOPICS, 'src/derive/*'],
  'src/ingest': [
    'src/model',
    'parsers',
    'src/store',
    'src/derive',
    'src/wasm',
    'src/allocator',
    'src/attribution',
    'src/knowledge',
  ],
  // Reads a run as ingest does, and writes it as files.
  'src/redact': ['src/model', 'src/knowledge', 'src/text', 'src/sqlite', 'parsers', 'parsers/*', 'src/ingest'],
  // Rows of a store as files, and back.
  'src/lake': ['src/model', 'src/store', 'queries', 'src/knowledge'],
  queries: [],
  'src/report': ['src/model', 'src/knowledge'],
  'src/cli': [
    'src/model',
    'src/text',
    'parsers',
    'src/store',
    'src/ingest',
    'src/derive',
    'src/derive/*',
    'src/git',
    'src/redact',
    'src/lake',
    'src/findings/*',
    'src/report',
    'src/allocator',
    'src/attribution',
    'src/knowledge',
    'queries',
  ],
  'samples/generate': ['src/model', 'src/allocator', 'src/knowledge'],
};

function folderOf(file: string): string {
  const parts = file.split(sep);
  if (parts[0] === 'parsers') return parts.length > 2 ? 'parsers/*' : 'parsers';
  if (parts[0] === 'queries') return 'queries';
  if (parts[1] === 'findings' || (parts[1] === 'derive' && parts.length > 3)) return parts.slice(0, 3).join('/');
  return parts.slice(0, 2).join('/');
}

function allowedFor(folder: string): readonly string[] | undefined {
  const derived = /^src\/derive\/(.+)$/.exec(folder)?.[1];
  if (derived !== undefined)
    return [...BELOW_TOPICS, ...DERIVED.slice(0, DERIVED.indexOf(derived)).map((name) => `src/derive/${name}`)];
  const topic = /^src\/findings\/(.+)$/.exec(folder)?.[1];
  if (topic === undefined) return MAY_IMPORT[folder];
  const below = [...BELOW_TOPICS, 'src/derive', 'src/derive/*'];
  if (topic === 'flows') return [...below, 'src/findings/*', 'src/git'];
  const place = FACTS.indexOf(topic);
  const topics = place < 0 ? FACTS : FACTS.slice(0, place);
  return [...below, ...topics.map((name) => `src/findings/${name}`)];
}

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /^(?:src|parsers|queries|samples|bench|test)\/.*\.ts$/.test(file) && existsSync(join(ROOT, file)));
const product = files.filter((file) => /^(?:src|parsers|queries|samples\/generate)\//.test(file));

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

/** Files that a file imports, types included. */
function importsOf(file: string): string[] {
  return [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)]
    .map(([, target]) => target!)
    .filter((target) => target.startsWith('.'))
    .map((target) => relative(ROOT, resolve(ROOT, dirname(file), target)).replace(/\.js$/, '.ts'));
}

/** Groups of nodes that reach each other: the strongly connected components with more than one node. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (open.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!));
    }
    if (low.get(node) !== index.get(node)) return;
    const component = open.splice(open.indexOf(node));
    if (component.length > 1) found.push(component.sort());
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

describe('imports', () => {
  it('go only where the table allows', () => {
    expect(product.length).toBeGreaterThan(500);
    const forbidden = product.flatMap((file) => {
      const folder = folderOf(file);
      const allowed = allowedFor(folder);
      if (allowed === undefined) return [`folder ${folder} is not in the table`];
      return imports.get(file)!.flatMap((imported) => {
        const other = folderOf(imported);
        const sameParser = folder === 'parsers/*' && imported.split(sep)[1] === file.split(sep)[1];
        if (other === folder && (folder !== 'parsers/*' || sameParser)) return [];
        const isTopic = ['src/findings', 'src/derive'].some(
          (layer) => other.startsWith(`${layer}/`) && allowed.includes(`${layer}/*`),
        );
        return isTopic || allowed.includes(other) ? [] : [`${file} imports ${imported}`];
      });
    });
    expect(forbidden).toEqual([]);
  });

  it('make no cycle of files', () => {
    expect(cycles(imports)).toEqual([]);
  });

  it('make no cycle of folders', () => {
    const graph = new Map<string, string[]>();
    for (const file of product) {
      const folder = folderOf(file);
      if (folder === 'parsers/*') continue;
      const others = imports.get(file)!.map(folderOf);
      graph.set(folder, [...(graph.get(folder) ?? []), ...others.filter((other) => other !== folder)]);
    }
    expect(cycles(graph)).toEqual([]);
  });
});

const BUILT_IN = /^(?:push|unshift|splice|concat|max|min|hypot|assign|fromCharCode|fromCodePoint)$/;

/** Calls of the methods above with a spread argument, as `line: name`. */
function spreadCalls(text: string): string[] {
  const places: string[] = [];
  /** Brackets that are open, each as the method it calls; a template counts as one. */
  const open: string[] = [];
  let [object, name] = ['', ''];
  let line = 1;
  for (const { type, value } of jsTokens(text)) {
    const isPunctuator = type === 'Punctuator';
    const called = open.at(-1) ?? '';
    if (isPunctuator && value === '...' && BUILT_IN.test(called)) places.push(`${line}: ${called}`);
    if (type === 'TemplateHead' || (isPunctuator && /^[([{]$/.test(value)))
      open.push(value === '(' && /^\??\.$/.test(object) ? name : '');
    else if (type === 'TemplateTail' || (isPunctuator && /^[)\]}]$/.test(value))) open.pop();
    line += value.split('\n').length - 1;
    if (!/^(?:WhiteSpace|LineTerminatorSequence)$|Comment$/.test(type)) [object, name] = [name, value];
  }
  return places;
}

describe('calls', () => {
  it('a spread argument is recognised', () => {
    const text = 'a.push(...b);\nMath.max(0, ...b.map((x) => [...x]));\nf([...a], { ...b }, c?.push(\n...d));';
    expect(spreadCalls(text)).toEqual(['1: push', '2: max', '4: push']);
    expect(spreadCalls(`\`\${c.push(...d)} \${e}\`; a.min(0, ...f)`)).toEqual(['1: push', '1: min']);
    expect(spreadCalls('a.push([...b]); f(...b); a.push(g({ ...b })); (...c) => c.push(0);')).toEqual([]);
  });

  it('spread no array into a built-in function', () => {
    // About 120,000 arguments overflow the call stack. `src/model/lists.ts` takes any number.
    const sources = product.filter((file) => !file.startsWith('samples'));
    const calls = sources.flatMap((file) =>
      spreadCalls(readFileSync(join(ROOT, file), 'utf8')).map((at) => `${file}:${at}`),
    );
    expect(calls).toEqual([]);
  });
});

describe('the root', () => {
  it('has the files and folders that are listed here', () => {
    const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
    const names = tracked.split('\n').filter((file) => file !== '' && existsSync(join(ROOT, file)));
    expect([...new Set(names.map((file) => file.replace(/\/.*/, '/')))].sort()).toEqual([
      ...['.ci/', '.gitignore', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md'],
      ...['SECURITY.md', 'bench/', 'biome.json', 'docs/', 'package-lock.json', 'package.json', 'parsers/', 'queries/'],
      ...['samples/', 'src/', 'test/', 'tsconfig.build.json', 'tsconfig.json', 'vitest.config.ts'],
    ]);
  });
});

describe('the levels of tests', () => {
  it('npm test reads no real files', () => {
    const ofNpmTest = files.filter((file) => /^test\/.*(?<!\.ci|\.nightly)\.test\.ts$/.test(file));
    expect(ofNpmTest.length).toBeGreaterThan(100);
    expect(ofNpmTest.filter((file) => imports.get(file)!.includes('test/support/corpus.ts'))).toEqual([]);
  });
});

describe('sizes', () => {
  it('no file has more than 700 lines', () => {
    const long = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1 > 700);
    expect(long).toEqual([]);
  });

  it('no folder has more than 40 files', () => {
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 40)).toEqual([]);
  });
});

describe('the process', () => {
  const ENTRY = ['src/cli/main.ts', 'src/cli/program.ts'];
  it.each([
    ['its environment is read', /process\.env\b|\benv\b[^;]*\} = process\b/, ['src/cli/context.ts']],
    ['its arguments are read', /process\.argv\b/, ENTRY],
    ['it ends', /process\.exit(?:Code)?\b/, ['src/cli/interrupt.ts', ...ENTRY]],
    // Besides the context: a signal, before the modules are loaded, the bytes of a Parquet file.
    [
      'its output is written',
      /\b(?:stdout|stderr)\.write\(|\bconsole\.\w+\(/,
      ['context', 'interrupt', 'main', 'output-file'].map((name) => `src/cli/${name}.ts`),
    ],
  ])('%s at one place', (_, pattern, places) => {
    const own = product.filter((file) => !file.startsWith('samples'));
    expect(own.filter((file) => pattern.test(readFileSync(join(ROOT, file), 'utf8'))).sort()).toEqual(places);
  });
});
