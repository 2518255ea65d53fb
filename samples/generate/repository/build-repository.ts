/**
 * A real git repository of a training project, with a submodule, in which one commit made the runs worse. What the run
 * of each commit does is in a table beside it, `behaviours.json`, from which `trainer-main.ts` makes the files of a
 * run.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createRandom, deriveSeed, pick, type Random, wholeBetween } from '../simulate/random.js';
import { behavioursOf, CLUSTER_FILE } from './behaviours.js';
import { type Choice, choose } from './choose.js';
import { FACTS, type Regression, type RepositoryKind } from './facts.js';
import { git } from './git.js';
import { apply, CORE, type Project, partOf, remove } from './project.js';
import { editText, REFACTORS, type Refactor, refactor, type Side } from './refactors.js';
import { drawSchedule, type Ordinary, type Schedule, type Slot, type TroubleKind } from './schedule.js';
import { type Behaviours, NODES, SLOW_NODE, type Table } from './table.js';
import { type Trained, writeRun } from './train.js';
import { type Revision, type SuperprojectRevision, writeHistory } from './write-history.js';

export interface RepositoryOptions {
  readonly seed: number;
  readonly kind: RepositoryKind;
  /** After the first, which is good. Default 40. */
  readonly commits?: number;
  /** Commits before the planted one, or itself, cannot be judged: the answer is a set of suspects. */
  readonly skippedNeighbour?: boolean;
}

export interface BuiltCommit {
  readonly sha: string;
  readonly kind: 'base' | Slot['kind'];
  readonly subject: string;
  /** Whether its run has the regression. */
  readonly isBad: boolean;
  /** `always`: no launch of it can be judged. `sometimes`: some cannot. `slow`: its times are not the code's. */
  readonly spoiled: 'never' | 'sometimes' | 'always' | 'slow';
  readonly behaviours: Behaviours;
}

export interface Planted {
  readonly sha: string;
  /** Into `commits`. */
  readonly index: number;
  readonly regression: Regression;
  /** From the superproject's root; the file of overrides for a setting. */
  readonly file: string;
  /** As `section.name`; null where no setting has to do with it. */
  readonly key: string | null;
  /** The line that came in, or that is where lines were deleted, in the file of the planted commit. */
  readonly line: number;
  readonly peakBytes: readonly [before: number, after: number];
}

export interface BuiltRepository {
  /** The checkout. */
  readonly directory: string;
  readonly criterion: string;
  /** Oldest first; the first is good, the last bad. */
  readonly commits: readonly BuiltCommit[];
  readonly planted: Planted;
  /** What git is left with: the planted commit alone, or with commits that cannot be judged; oldest first. */
  readonly expectedSuspects: readonly string[];
  /** Neighbours between which code only moved or was renamed. */
  readonly refactors: readonly (readonly [before: string, after: string])[];
  /** For `launch.sh`; the trainer is that of a build. */
  readonly environment: Readonly<Record<string, string>>;
  /** Writes the files of a run. The same commit and attempt give the same run as `launch.sh` in a checkout. */
  train(sha: string, attempt: number, output: string): Promise<Trained>;
}

/** Where the compiled `trainer-main.js` is in a directory of compiled sources. */
const trainerScript = (compiled: string): string =>
  join(compiled, 'samples', 'generate', 'repository', 'trainer-main.js');

/**
 * Makes `directory`/Megatron-Bridge and `directory`/Megatron-LM.git. Deterministic: the same options give the same
 * names of commits.
 */
export async function buildRepository(
  directory: string,
  options: RepositoryOptions,
  compiled = '',
): Promise<BuiltRepository> {
  const { seed, kind, commits: count = 40, skippedNeighbour = false } = options;
  const choice = choose(seed, kind);
  const random = createRandom(deriveSeed('history', kind, seed, Number(skippedNeighbour)));
  const schedule = drawSchedule(random, count, skippedNeighbour, kind !== 'oom');
  const history = writeCommits(random, schedule, choice, kind !== 'oom');
  const superproject = resolve(directory, 'Megatron-Bridge');
  const submodule = resolve(directory, 'Megatron-LM.git');
  for (const path of [superproject, submodule]) mkdirSync(path, { recursive: true });
  await git(submodule, ['init', '--quiet', '--bare', '--initial-branch=main']);
  await git(superproject, ['init', '--quiet', '--initial-branch=main']);
  const names = await writeHistory(superproject, submodule, history.revisions);
  await git(superproject, ['reset', '--quiet', '--hard', 'main']);
  await git(superproject, ['-c', 'protocol.file.allow=always', 'submodule', 'update', '--init', '--quiet']);
  const commits = history.commits.map((commit, i): BuiltCommit => ({ ...commit, sha: names[i]! }));
  const table: Table = {
    launch: choice.launch,
    commits: Object.fromEntries(commits.map(({ sha, behaviours }) => [sha, behaviours])),
  };
  writeFileSync(resolve(directory, 'behaviours.json'), JSON.stringify(table));
  // The first commit of a history is none of its slots.
  const index = schedule.planted + 1;
  const suspects = new Set([...schedule.skippedNear.map((slot) => slot + 1), index]);
  // Where the planted commit itself cannot be judged, the next that can is suspected with it.
  if (schedule.skippedNear.includes(schedule.planted)) suspects.add(index + 1);
  const { regression, peakBytes } = choice;
  return {
    directory: superproject,
    criterion: kind === 'component' ? `component:${regression.component}` : kind,
    commits,
    planted: { ...history.planted, sha: names[index]!, index, regression, peakBytes },
    expectedSuspects: [...suspects].sort((a, b) => a - b).map((at) => names[at]!),
    refactors: history.refactors.map((at) => [names[at - 1]!, names[at]!] as const),
    environment: { TRAINER: trainerScript(compiled) },
    train: async (sha, attempt, output) => writeRun(table, sha, attempt, output),
  };
}

export async function checkOut({ directory }: BuiltRepository, sha: string): Promise<void> {
  await git(directory, ['checkout', '--quiet', '--detach', sha]);
  await git(directory, ['-c', 'protocol.file.allow=always', 'submodule', 'update', '--init', '--quiet']);
}

interface Written {
  readonly revisions: readonly SuperprojectRevision[];
  readonly commits: readonly Omit<BuiltCommit, 'sha'>[];
  readonly planted: Pick<Planted, 'file' | 'key' | 'line'>;
  /** Indices into `commits`. */
  readonly refactors: readonly number[];
}

const FIRST = 'Nightly performance run';
const isRefactoring = ({ kind }: Slot): boolean => kind === 'bump' || (REFACTORS as readonly string[]).includes(kind);

function writeCommits(
  random: Random,
  schedule: Schedule,
  { project: base, regression }: Choice,
  hangs: boolean,
): Written {
  const revisions: SuperprojectRevision[] = [
    { subject: FIRST, tree: base, core: [{ subject: 'Megatron Core', tree: base }] },
  ];
  const commits: Omit<BuiltCommit, 'sha'>[] = [
    { kind: 'base', subject: FIRST, isBad: false, spoiled: 'never', behaviours: behavioursOf(base) },
  ];
  const refactors: number[] = [];
  const troubles = new Map<number, DrawnTrouble & { readonly spoils: BuiltCommit['spoiled'] }>();
  let planted: Written['planted'] | undefined;
  let project = base;
  const begin = (at: number, kind: TroubleKind, certain: boolean, next: Project): string => {
    const trouble = drawTrouble(random, kind, certain);
    trouble.make(next);
    // What runs out of memory may do so before it hangs.
    const isSure = hangs || kind !== 'flaky' || at < schedule.planted;
    const spoils = kind === 'straggler' ? 'slow' : certain && isSure ? 'always' : 'sometimes';
    troubles.set(at, { ...trouble, spoils });
    return trouble.subject;
  };
  const end = (from: number, next: Project): string => {
    const { mend, fix } = troubles.get(from)!;
    mend(next);
    troubles.delete(from);
    return fix;
  };
  schedule.slots.forEach((slot, at) => {
    const next: Project = new Map(project);
    const core: Revision[] = [];
    let subject: string;
    if ('certain' in slot) {
      subject = begin(at, slot.kind, slot.certain, next);
    } else if (slot.kind === 'fix') subject = end(slot.of, next);
    else if (slot.kind === 'planted') {
      for (const from of [...troubles.keys()]) {
        const begun = schedule.slots[from]!;
        if ('mendedAt' in begun && begun.mendedAt === at) end(from, next);
      }
      ({ subject, planted } = plant(random, next, core, regression));
      if (schedule.skippedNear.includes(at) && troubles.size === 0) {
        begin(at, hangs ? pick(random, ['broken', 'flaky'] as const) : 'broken', true, next);
      }
    } else subject = ordinary(random, slot, next, core);
    const spoiled = [...troubles.values()][0]?.spoils ?? 'never';
    if (isRefactoring(slot) && spoiled === 'never' && commits.at(-1)!.spoiled === 'never')
      refactors.push(commits.length);
    revisions.push({ subject, tree: next, core });
    commits.push({ kind: slot.kind, subject, isBad: at >= schedule.planted, spoiled, behaviours: behavioursOf(next) });
    project = next;
  });
  return { revisions, commits, planted: planted!, refactors };
}

interface DrawnTrouble {
  readonly subject: string;
  readonly fix: string;
  readonly make: (project: Project) => void;
  readonly mend: (project: Project) => void;
}

function drawTrouble(random: Random, kind: TroubleKind, certain: boolean): DrawnTrouble {
  if (kind !== 'straggler') {
    const trouble = pick(
      random,
      FACTS.troubles.filter((one) => one.kind === kind && (!certain || (one.hangs ?? 1) === 1)),
    );
    const { subject, fix } = trouble;
    return {
      subject,
      fix,
      make: (project) => void apply(project, trouble, subject),
      mend: (project) => remove(project, subject),
    };
  }
  const after = pick(random, NODES);
  const moveTo = (node: string) => (project: Project) =>
    void project.set(CLUSTER_FILE, [partOf(`# Where the nightly run goes.\nPARTITION=nightly\nNODELIST=${node}`)]);
  const subject = (node: string): string => `Move the nightly run to ${node}`;
  return { subject: subject(SLOW_NODE), fix: subject(after), make: moveTo(SLOW_NODE), mend: moveTo(after) };
}

function ordinary(random: Random, slot: Ordinary, project: Project, core: Revision[]): string {
  switch (slot.kind) {
    case 'docs':
    case 'tests':
      return editText(random, project, slot.kind);
    case 'config': {
      const key = pick(random, Object.keys(FACTS.harmless));
      const value = pick(random, FACTS.harmless[key]!);
      apply(project, { set: { [key]: value } }, key);
      return `Set ${key} to ${value}`;
    }
    case 'config_small': {
      const key = pick(random, FACTS.small);
      apply(project, { set: { [key]: true } }, key);
      return `Turn on ${key}`;
    }
    case 'bump':
      for (const kind of slot.refactors) refactorPart(random, kind, project, core, 'submodule');
      return bump(core);
    default:
      return refactorPart(random, slot.kind, project, core, 'superproject');
  }
}

const bump = (core: readonly Revision[]): string =>
  `Bump Megatron-LM (${core.length} ${core.length === 1 ? 'commit' : 'commits'})`;

function refactorPart(random: Random, kind: Refactor, project: Project, core: Revision[], side: Side): string {
  const subject = refactor(kind, random, project, side);
  if (side === 'submodule') core.push({ subject, tree: new Map(project) });
  return subject;
}

/** The regression among changes that have nothing to do with it. */
function plant(
  random: Random,
  project: Project,
  core: Revision[],
  regression: Regression,
): { readonly subject: string; readonly planted: Written['planted'] } {
  const { path: file, line } = apply(project, regression, regression.name);
  const inCore = file.startsWith(CORE);
  if (inCore) core.push({ subject: regression.subject, tree: new Map(project) });
  for (let i = wholeBetween(random, 0, 2); i > 0; i -= 1) {
    const kind = pick(random, ['shift', 'comment', 'rename_variable'] as const);
    refactorPart(random, kind, project, core, inCore ? 'submodule' : 'superproject');
  }
  if (random() < 0.4) editText(random, project, 'docs');
  const { subject, key, add, swap, drop, set } = regression;
  const [first = null] = (add ?? swap ?? drop) === undefined ? Object.keys(set!) : [];
  return { subject: inCore ? bump(core) : subject, planted: { file, key: key ?? first, line: line() } };
}
