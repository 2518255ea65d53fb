/**
 * Writes commits into git, by `git fast-import`: one process however many there are, and names that follow from the
 * content alone.
 */
import { git, gitText } from './git.js';
import { CORE, type Project, textOf } from './project.js';

export interface Revision {
  readonly subject: string;
  readonly tree: Project;
}

export interface SuperprojectRevision extends Revision {
  /** Commits of the submodule that this one moves on by; the last is what it pins. */
  readonly core: readonly Revision[];
}

const AUTHORS = ['Ada Lindqvist', 'Bo Tran', 'Chidi Okafor', 'Dana Weiss', 'Emre Aydin'];
/** 2025-09-01, noon. */
const FIRST_COMMIT_S = 1_756_728_000;
const BETWEEN_COMMITS_S = 9_300;

/** Names of the superproject's commits, in order. */
export async function writeHistory(
  superproject: string,
  submodule: string,
  history: readonly SuperprojectRevision[],
): Promise<string[]> {
  const coreRevisions = history.flatMap(({ core }) => core);
  const pins = await importCommits(
    submodule,
    coreRevisions.map(({ subject, tree }) => ({ subject, files: filesOf(tree, true), pin: null })),
  );
  let pinned = 0;
  return importCommits(
    superproject,
    history.map(({ subject, tree, core }) => {
      pinned += core.length;
      return { subject, files: filesOf(tree, false), pin: pins[pinned - 1] ?? null };
    }),
  );
}

interface Imported {
  readonly subject: string;
  readonly files: ReadonlyMap<string, string>;
  readonly pin: string | null;
}

function filesOf(project: Project, inCore: boolean): Map<string, string> {
  const own = [...project].filter(([path]) => path.startsWith(CORE) === inCore);
  return new Map(own.map(([path, parts]) => [inCore ? path.slice(CORE.length) : path, textOf(parts)]));
}

async function importCommits(directory: string, commits: readonly Imported[]): Promise<string[]> {
  const stream: string[] = [];
  let before: ReadonlyMap<string, string> = new Map();
  const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  commits.forEach(({ subject, files, pin }, i) => {
    const author = AUTHORS[(i * 7) % AUTHORS.length]!;
    const address = `${author.toLowerCase().replace(' ', '.')}@example.com`;
    const person = `${author} <${address}> ${FIRST_COMMIT_S + i * BETWEEN_COMMITS_S} +0000`;
    stream.push(
      `commit refs/heads/main\nmark :${i + 1}\nauthor ${person}\ncommitter ${person}\n`,
      data(`${subject}\n`),
    );
    if (i > 0) stream.push(`from :${i}\n`);
    for (const path of before.keys()) if (!files.has(path)) stream.push(`D ${path}\n`);
    for (const [path, text] of files) {
      if (before.get(path) === text) continue;
      stream.push(`M ${path.endsWith('.sh') ? '100755' : '100644'} inline ${path}\n`, data(text));
    }
    if (pin !== null) stream.push(`M 160000 ${pin} ${CORE.slice(0, -1)}\n`);
    stream.push('\n');
    before = files;
  });
  await git(directory, ['fast-import', '--quiet', '--done'], `${stream.join('')}done\n`);
  return (await gitText(directory, ['rev-list', '--reverse', 'main'])).split('\n');
}
