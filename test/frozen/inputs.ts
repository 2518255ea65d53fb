/**
 * What a comparison runs: inputs, each with its commands. Everything comes from the base build, the corpus, or the
 * generator of the base build.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';

export interface Input {
  readonly name: string;
  readonly paths: readonly string[];
  readonly commands: readonly string[];
}

export interface Choice {
  readonly parts: readonly string[];
  readonly quick: boolean;
  readonly seeds: number;
  /** Inputs taken of each part of the corpus. */
  readonly sample: number;
  readonly only: string | undefined;
  readonly corpus: string;
  /** Where generated inputs are kept. */
  readonly cache: string;
  /** The checkout of the base build. */
  readonly base: string;
}

type Forms = Partial<Record<'text' | 'json' | 'both', string>>;
type Kind = Readonly<Record<string, Forms>>;

/** Samples that are compared with each other, before and after. */
const PAIRS = [
  ['llama3-70b-fragmentation', 'llama3-70b-expandable'],
  ['llama3-70b-expandable', 'llama3-70b-vpp10'],
  ['llama3-70b-expandable', 'llama3-70b-tp8'],
  ['llama3-70b-pp8', 'llama3-70b-fragmentation'],
  ['leak', 'nccl-outside'],
  ['capacity', 'capacity'],
] as const;

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
const list = (path: string): string[] => (isFolder(path) ? readdirSync(path).sort() : []);

export function bytesOf(path: string): number {
  return isFolder(path) ? list(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0) : statSync(path).size;
}

export function collectInputs(commandsFile: string, choice: Choice): Input[] {
  const kinds = parse(readFileSync(commandsFile, 'utf8')) as Record<string, Kind>;
  const { base, corpus, cache, quick, only } = choice;

  function commands(kind: string, groups = quick ? ['main'] : ['main', 'more', 'last']): string[] {
    const asked = groups.flatMap((group) => spell(kinds[kind]?.[group]));
    return [
      ...spell(kinds[kind]?.['setup']),
      ...asked.filter((command) => only === undefined || isVerb(command, only)),
    ];
  }
  const one = (kind: string, name: string, path: string): Input => ({ name, paths: [path], commands: commands(kind) });

  function samples(): Input[] {
    const folder = join(base, 'samples');
    const runs = list(folder).filter(
      (name) =>
        existsSync(join(folder, name, 'truth.json')) || list(join(folder, name)).some((file) => /\.gz$/.test(file)),
    );
    const pairs = PAIRS.filter((pair) => pair.every((name) => runs.includes(name))).flatMap(([a, b]) =>
      commands('pairs', ['pair'])
        .slice(spell(kinds['pairs']?.['setup']).length)
        .map((command) => command.replaceAll('{a}', a).replaceAll('{b}', b)),
    );
    const configs = runs.filter((name) => existsSync(join(folder, name, 'run_config.yaml')));
    return [
      { name: 'samples', paths: runs.map((name) => join(folder, name)), commands: [...commands('pairs'), ...pairs] },
      ...runs.map((name) => one('run', `samples/${name}`, join(folder, name))),
      ...configs.map((name) => one('config', `configuration/${name}`, join(folder, name, 'run_config.yaml'))),
      { name: 'program', paths: [], commands: expanded(commands('program'), base) },
    ];
  }

  function corpusInputs(): Input[] {
    const some = (names: readonly string[]): string[] =>
      names.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, choice.sample);
    const runs = (part: string, isInput: (name: string) => boolean): Input[] =>
      some(list(join(corpus, part)).filter(isInput)).map((name) =>
        one('run', `${part}/${name}`, join(corpus, part, name)),
      );
    const isData = (name: string): boolean => !/\.(?:truth|meta)\.json$|\.md$/.test(name);
    const texts = ['oom_messages', 'verdict_cases'].flatMap((part) =>
      kept(part, `${part}.jsonl`, (text) =>
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { id: string; text: string })
          .map(({ id, text: message }) => [`${id}.txt`, message] as const),
      ),
    );
    const vectors = kept('estimator', 'estimator_vectors.json', (text) =>
      (JSON.parse(text) as { vectors: { name: string; inputs: object }[] }).vectors.map(
        ({ name, inputs }) => [`${name}.json`, JSON.stringify(inputs)] as const,
      ),
    );
    return [
      ...runs('snapshots', isData),
      ...runs('logs', isData),
      ...runs('nsys', isData),
      ...runs('megatron', (name) => isFolder(join(corpus, 'megatron', name)) && name !== 'truth'),
      ...runs('lab', (name) => isFolder(join(corpus, 'lab', name))),
      ...list(join(corpus, 'golden'))
        .filter(isData)
        .map((name) => one('golden', `golden/${name}`, join(corpus, 'golden', name))),
      ...some(list(join(corpus, 'logs')).filter(isData)).map((name) =>
        one('text', `text/${name}`, join(corpus, 'logs', name)),
      ),
      ...texts.map((path) => one('text', `messages/${basename(path)}`, path)),
      ...vectors.map((path) => one('estimate', `estimate/${basename(path)}`, path)),
    ];
  }

  /** Files cut out of one file of the corpus. */
  function kept(part: string, file: string, cut: (text: string) => readonly (readonly [string, string])[]): string[] {
    const source = join(corpus, file);
    if (!existsSync(source)) return [];
    const folder = join(cache, 'corpus', part);
    mkdirSync(folder, { recursive: true });
    return cut(readFileSync(source, 'utf8')).map(([name, text]) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    });
  }

  function generated(): Input[] {
    const script = join(base, 'dist', 'samples', 'generate', 'main.js');
    const causes = [...run([script, '--list']).matchAll(/^([a-z-]+) {2,}/gm)].map((match) => match[1]!);
    return causes.flatMap((cause) =>
      Array.from({ length: choice.seeds }, (_, i) => {
        const seed = 4100 + i;
        const folder = join(cache, 'generated', `${cause}-${seed}`);
        if (!existsSync(folder)) {
          run([script, '--cause', cause, '--seed', String(seed), '--gzip', '--out', `${folder}.part${process.pid}`]);
          renameSync(`${folder}.part${process.pid}`, folder);
        }
        return one('run', `generated/${cause}-${seed}`, folder);
      }),
    );
  }

  const parts: Readonly<Record<string, () => Input[]>> = { samples, corpus: corpusInputs, generated };
  return choice.parts.flatMap((part) => {
    const make = parts[part];
    if (make === undefined) throw new Error(`no inputs are called ${part}; known: ${Object.keys(parts).join(', ')}`);
    return make();
  });
}

function spell(forms: Forms = {}): string[] {
  const [both, json, text] = [forms.both, forms.json, forms.text].map((commands) => commands?.split(/;\s*/) ?? []);
  return [...both!.flatMap((command) => [command, asJson(command)]), ...json!.map(asJson), ...text!];
}

const asJson = (command: string): string => `${command} --json=full`;

const isVerb = (command: string, verb: string): boolean => command === verb || command.startsWith(`${verb} `);
const order = (name: string): string => createHash('sha256').update(name).digest('hex');
const run = (args: readonly string[]): string =>
  execFileSync(process.execPath, [...args], { encoding: 'utf8', maxBuffer: 1 << 28 });

/** The verbs in the help of the base build, and the names in its documentation. */
function expanded(commands: readonly string[], base: string): string[] {
  const help = run([join(base, 'dist', 'src', 'cli', 'main.js'), '--help']);
  const verbs = [...help.matchAll(/^ {2}([a-z-]+) .*?(?:\[|<)/gm)].map((match) => match[1]!);
  const docs = list(join(base, 'docs')).filter((name) => name.endsWith('.md'));
  const text = docs.map((name) => readFileSync(join(base, 'docs', name), 'utf8')).join('\n');
  const ids = [...text.matchAll(/`([a-z][\w.-]{2,40})`|\b(MBF\d{4}|[SD]\d{1,2}|mem\.[a-z-]+)\b/g)].map(
    ([, a, b]) => a ?? b!,
  );
  return commands.flatMap((command) => {
    if (command.includes('{verb}')) return verbs.map((verb) => command.replace('{verb}', verb));
    if (command.includes('{id}')) return [...new Set(ids)].sort().map((id) => command.replace('{id}', id));
    return [command];
  });
}
