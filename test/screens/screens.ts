/** The list of screens, and what the program prints for them. */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse } from 'yaml';
import { contentKey, madeOnce, repoRoot, sharedPath } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';

const LIST = join(repoRoot, 'test', 'screens', 'screens.yaml');

export interface Screen {
  /** Its name in docs/screens. */
  readonly file: string;
  readonly folder: string;
  /** Without the name of the program. */
  readonly command: string;
  readonly exitCode: number;
  /** It writes, so it runs once for each build, before all others of its folder. */
  readonly isFirst: boolean;
}

interface FolderEntry {
  readonly folder: string;
  readonly first: Readonly<Record<string, string>>;
  readonly screens?: Readonly<Record<string, string>>;
}

export const SCREENS: readonly Screen[] = (parse(readFileSync(LIST, 'utf8')) as FolderEntry[]).flatMap(
  ({ folder, first, screens = {} }) =>
    [first, screens].flatMap((entries) =>
      Object.entries(entries).map(([file, text]) => {
        const [command = '', exitCode = '0'] = text.split(' => ');
        return { file, folder, command, exitCode: Number(exitCode), isFirst: entries === first };
      }),
    ),
);

/** The arguments of a command: a trailing `*` is the only pattern, double quotes the only ones. */
const argumentsOf = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].flatMap(([, quoted, word]) => {
    if (quoted !== undefined || !word!.endsWith('*')) return [quoted ?? word!];
    const [, parent, prefix] = /^(.*\/)([^/]*)\*$/.exec(word!)!;
    const names = readdirSync(join(repoRoot, parent!)).sort();
    return names.filter((name) => name.startsWith(prefix!)).map((name) => `${parent}${name}`);
  });

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  json: ['--json=full'],
  md: ['--markdown', '-'],
  txt: [],
};
export const formatOf = (file: string): readonly string[] => FORMATS[file.split('.').at(-1)!]!;

export function ask(folder: string, command: string, exitCode = 0, format: readonly string[] = []): string {
  const env = { XDG_CACHE_HOME: sharedPath('screens-cache'), MBF_DB: '', COLUMNS: '100' };
  const args = [...argumentsOf(command), ...format];
  return buildCli().expect(exitCode, args, { cwd: sharedPath(`screens-${folder}`), env }).stdout;
}

const DAY_MS = 86_400_000;
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** What depends on the day, the machine, or the size of the program. */
const withoutVarying = (text: string, folder: string): string =>
  text
    .replaceAll(`${relative(repoRoot, sharedPath(`screens-${folder}`))}/`, '')
    .replaceAll(repoRoot, '/src/mbforensics/')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-01-02T03:04:05.678Z')
    .replaceAll(dayOf(Date.now()), '2026-01-02')
    .replaceAll(dayOf(Date.now() - DAY_MS), '2026-01-02')
    .replaceAll(/(?<= {2}2026-01-02) \d\d:\d\d:\d\d$/gm, ' 03:04:05')
    .replaceAll(/(?<=^(?:answers|state|events) .*) [\d.]+ KiB$/gm, ' 10.00 KiB')
    .replace(/(?<=^PICTURE .*\()[\d.]+ KiB/m, '250.00 KiB')
    .replace(/(?<="schema": "mbforensics\/report@1"[^}]*"bytes": )\d+/, '250000');

/** What the commands of `first` printed when this build made the folder. */
function printedAtFirst(folder: string): Readonly<Record<string, string>> {
  const made = sharedPath(`screens-${contentKey([LIST], [folder])}.json`);
  madeOnce(made, (file) => {
    const directory = sharedPath(`screens-${folder}`);
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
    symlinkSync(join(repoRoot, 'samples'), join(directory, 'samples'));
    const first = SCREENS.filter((screen) => screen.isFirst && screen.folder === folder);
    const printed = first.map(({ file: name, command, exitCode }) => [
      name,
      ask(folder, command, exitCode, formatOf(name)),
    ]);
    writeFileSync(file, JSON.stringify(Object.fromEntries(printed)));
  });
  return JSON.parse(readFileSync(made, 'utf8')) as Record<string, string>;
}

export function print({ file, folder, command, exitCode, isFirst }: Screen): string {
  const first = printedAtFirst(folder);
  return withoutVarying(isFirst ? first[file]! : ask(folder, command, exitCode, formatOf(file)), folder);
}
