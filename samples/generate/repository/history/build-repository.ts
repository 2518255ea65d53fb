/**
 * A real git repository of a training project, with a submodule, in which one commit made the runs worse. The program is run by
 * `trainer-main.ts`: what its files say is what it allocates.
 */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Component } from '../../../../src/model/vocabulary.js';
import { createRandom, deriveSeed, pick, type Random, wholeBetween } from '../../simulate/random.js';
import type { LaunchOptions } from '../train/launch-options.js';
import { type Choice, findRegression } from './find-regression.js';
import { git } from './git.js';
import { editDocumentation, editHarmlessKey, editSmallKey, editTests } from './neutral-edits.js';
import { REFACTORS, type Refactor, refactor } from './refactors.js';
import type { Regression, RepositoryKind } from './regressions.js';
import { drawSchedule, type Ordinary, type Schedule, type Slot } from './schedule.js';
import { applyEdit, isCore, type Tree } from './tree.js';
import { drawTrouble, TROUBLED_FUNCTIONS, type Trouble } from './trouble.js';
import { type Revision, type SuperprojectRevision, writeHistory } from './write-history.js';

export interface RepositoryOptions {
  readonly seed: number;
  readonly kind: RepositoryKind;
  /** After the first, which is good. Default 40. */
  readonly commits?: number;
  /** Commits before the planted one, or itself, cannot be judged: the answer is a set of suspects. */
  readonly skippedNeighbour?: boolean;
}

export type CommitKind = 'base' | Slot['kind'];

export interface BuiltCommit {
  readonly sha: string;
  readonly kind: CommitKind;
  readonly subject: string;
  /** Whether its program contains the regression. */
  readonly isBad: boolean;
  /** `always`: no launch of it can be judged. `sometimes`: some cannot. `slow`: its times are not the code's. */
  readonly spoiled: 'never' | 'sometimes' | 'always' | 'slow';
}

export interface Planted {
  readonly sha: string;
  /** Into `commits`. */
  readonly index: number;
  readonly regression: string;
  readonly form: Regression['form'];
  /** From the superproject's root; the file of overrides for a knob. */
  readonly file: string;
  /** As `section.name`; null where no setting has to do with it. */
  readonly key: string | null;
  /** The line that came first, or that stands where lines went, in the file of the planted commit. */
  readonly line: number;
  /** Which component grows; null where the kind is another. */
  readonly component: Component | null;
  /** Figures of the program before and after, without noise. */
  readonly peakBytes: readonly [before: number, after: number];
  readonly stepUs: readonly [before: number, after: number];
}

export interface BuiltRepository {
  /** The checkout. */
  readonly directory: string;
  /** The submodule's own repository, bare. */
  readonly submodule: string;
  readonly kind: RepositoryKind;
  readonly good: string;
  readonly bad: string;
  /** Oldest first; the first is `good`, the last `bad`. */
  readonly commits: readonly BuiltCommit[];
  readonly planted: Planted;
  /** What git is left with: the planted commit alone, or with commits that cannot be judged; oldest first. */
  readonly expectedSuspects: readonly string[];
  /** Neighbours between which code only moved or was renamed. */
  readonly refactorOnly: readonly (readonly [before: string, after: string])[];
  /** What `launch.sh` tells the trainer, but for the commit and the attempt. */
  readonly launch: Omit<LaunchOptions, 'commit' | 'attempt'>;
}

/** Makes `directory`/Megatron-Bridge and `directory`/Megatron-LM.git. Deterministic: the same options give the same names of commits. */
export async function buildRepository(directory: string, options: RepositoryOptions): Promise<BuiltRepository> {
  const { seed, kind, commits = 40, skippedNeighbour = false } = options;
  const choice = findRegression(seed, kind);
  const random = createRandom(deriveSeed('history', kind, seed, Number(skippedNeighbour)));
  const schedule = drawSchedule(random, commits, skippedNeighbour, kind !== 'oom');
  const history = writeCommits(random, schedule, choice, kind !== 'oom');
  const superproject = resolve(directory, 'Megatron-Bridge');
  const submodule = resolve(directory, 'Megatron-LM.git');
  for (const path of [superproject, submodule]) mkdirSync(path, { recursive: true });
  await git(submodule, ['init', '--quiet', '--bare', '--initial-branch=main']);
  await git(superproject, ['init', '--quiet', '--initial-branch=main']);
  const names = await writeHistory(superproject, submodule, history.revisions);
  await git(superproject, ['reset', '--quiet', '--hard', 'main']);
  await git(superproject, ['-c', 'protocol.file.allow=always', 'submodule', 'update', '--init', '--quiet']);
  const built = history.commits.map((commit, i): BuiltCommit => ({ ...commit, sha: names[i]! }));
  // The first commit of a history is none of its slots.
  const index = schedule.planted + 1;
  const { commit: _commit, attempt: _attempt, ...launch } = choice.launch;
  const suspects = new Set([...schedule.skippedNear.map((slot) => slot + 1), index]);
  // Where the planted commit itself cannot be judged, the next that can is suspected with it.
  if (schedule.skippedNear.includes(schedule.planted)) suspects.add(index + 1);
  return {
    directory: superproject,
    submodule,
    kind,
    good: names[0]!,
    bad: names.at(-1)!,
    commits: built,
    planted: {
      ...history.planted,
      sha: names[index]!,
      index,
      component: kind === 'component' ? (choice.regression.component ?? null) : null,
      peakBytes: [choice.before.peakBytes, choice.after.peakBytes],
      stepUs: [choice.before.stepUs, choice.after.stepUs],
    },
    expectedSuspects: [...suspects].sort((a, b) => a - b).map((at) => names[at]!),
    refactorOnly: history.refactorOnly.map((at) => [names[at - 1]!, names[at]!] as const),
    launch,
  };
}

export async function checkOut(repository: BuiltRepository, sha: string): Promise<void> {
  const { directory } = repository;
  await git(directory, ['checkout', '--quiet', '--detach', sha]);
  await git(directory, ['-c', 'protocol.file.allow=always', 'submodule', 'update', '--init', '--quiet']);
}

interface Written {
  readonly revisions: readonly SuperprojectRevision[];
  readonly commits: readonly Omit<BuiltCommit, 'sha'>[];
  readonly planted: Pick<Planted, 'regression' | 'form' | 'file' | 'key' | 'line'>;
  /** Indices into `commits`. */
  readonly refactorOnly: readonly number[];
}

const REFACTORED: ReadonlySet<string> = new Set(REFACTORS);

function writeCommits(random: Random, schedule: Schedule, { tree: base, regression }: Choice, hangs: boolean): Written {
  const protectedNames = new Set([...TROUBLED_FUNCTIONS, ...regression.functions]);
  const writer: Writer = { random, isProtected: (name) => protectedNames.has(name) };
  const revisions: SuperprojectRevision[] = [
    { subject: 'Nightly performance run', tree: base, core: [{ subject: 'Megatron Core', tree: base }] },
  ];
  const commits: Omit<BuiltCommit, 'sha'>[] = [
    { kind: 'base', subject: 'Nightly performance run', isBad: false, spoiled: 'never' },
  ];
  const refactorOnly: number[] = [];
  const troubles = new Map<number, { readonly trouble: Trouble; readonly spoils: BuiltCommit['spoiled'] }>();
  let planted: Written['planted'] | undefined;
  let tree = base;
  schedule.slots.forEach((slot, at) => {
    const next: Tree = new Map(tree);
    const core: Revision[] = [];
    let subject: string;
    switch (slot.kind) {
      case 'flaky':
      case 'broken':
      case 'straggler': {
        const trouble = drawTrouble(random, slot.kind, slot.certain);
        trouble.make(next);
        // What runs out of memory may do so before it hangs.
        const isSure = hangs || slot.kind !== 'flaky' || at < schedule.planted;
        troubles.set(at, { trouble, spoils: isSure ? spoils(slot) : 'sometimes' });
        subject = trouble.subject;
        break;
      }
      case 'fix': {
        const { trouble } = troubles.get(slot.of)!;
        trouble.mend(next);
        troubles.delete(slot.of);
        subject = trouble.fixSubject;
        break;
      }
      case 'planted': {
        const ended = [...troubles].filter(([from]) => mendedAt(schedule, from) === at);
        for (const [from, { trouble }] of ended) {
          trouble.mend(next);
          troubles.delete(from);
        }
        ({ subject, planted } = plant(writer, next, core, regression));
        if (schedule.skippedNear.includes(at) && troubles.size === 0) {
          const trouble = drawTrouble(random, hangs ? pick(random, ['broken', 'flaky'] as const) : 'broken', true);
          trouble.make(next);
          troubles.set(at, { trouble, spoils: 'always' });
        }
        break;
      }
      default:
        subject = ordinary(writer, slot, next, core);
    }
    const spoiled = [...troubles.values()].at(0)?.spoils ?? 'never';
    if (isRefactoring(slot) && spoiled === 'never' && commits.at(-1)!.spoiled === 'never')
      refactorOnly.push(commits.length);
    const isBad = at >= schedule.planted;
    revisions.push({ subject, tree: next, core });
    commits.push({ kind: slot.kind, subject, isBad, spoiled });
    tree = next;
  });
  return { revisions, commits, planted: planted!, refactorOnly };
}

interface Writer {
  readonly random: Random;
  readonly isProtected: (name: string) => boolean;
}

function spoils({ kind, certain }: Extract<Slot, { kind: 'flaky' | 'broken' | 'straggler' }>): BuiltCommit['spoiled'] {
  if (kind === 'straggler') return 'slow';
  return certain ? 'always' : 'sometimes';
}

function mendedAt({ slots }: Schedule, from: number): number | undefined {
  const slot = slots[from];
  return slot !== undefined && 'mendedAt' in slot ? slot.mendedAt : undefined;
}

function isRefactoring(slot: Slot): boolean {
  return slot.kind === 'bump' || REFACTORED.has(slot.kind);
}

function ordinary(writer: Writer, slot: Ordinary, tree: Tree, core: Revision[]): string {
  const { random } = writer;
  switch (slot.kind) {
    case 'docs':
      return editDocumentation(random, tree);
    case 'tests':
      return editTests(random, tree);
    case 'config':
      return editHarmlessKey(random, tree);
    case 'config_small':
      return editSmallKey(random, tree);
    case 'bump': {
      for (const kind of slot.refactors) coreCommit(writer, kind, tree, core);
      return `Bump Megatron-LM (${core.length} ${core.length === 1 ? 'commit' : 'commits'})`;
    }
    default:
      return refactorSome(writer, slot.kind, tree, 'superproject');
  }
}

/** Another kind where nothing of the one asked for is left to do. */
function refactorSome(writer: Writer, kind: Refactor, tree: Tree, side: 'superproject' | 'submodule'): string {
  return (
    refactor(kind, { ...writer, tree, side }) ??
    refactor('rename_variable', { ...writer, tree, side }) ??
    refactor('shift', { ...writer, tree, side })!
  );
}

function coreCommit(writer: Writer, kind: Refactor, tree: Tree, core: Revision[]): void {
  const subject = refactorSome(writer, kind, tree, 'submodule');
  core.push({ subject, tree: new Map(tree) });
}

/** The regression among changes that have nothing to do with it. */
function plant(
  writer: Writer,
  tree: Tree,
  core: Revision[],
  regression: Regression,
): { subject: string; planted: Written['planted'] } {
  const { random } = writer;
  const before: Tree = new Map(tree);
  const files = regression.edits.map((edit) => applyEdit(tree, edit));
  const line = firstDifference(before.get(files[0]!)!, tree.get(files[0]!)!);
  const { name, form, key, subject } = regression;
  const planted = { regression: name, form, file: files[0]!, key, line };
  const inCore = files.some(isCore);
  if (inCore) core.push({ subject, tree: new Map(tree) });
  for (let i = wholeBetween(random, 0, 2); i > 0; i -= 1) {
    const kind = pick(random, ['shift', 'comment', 'rename_variable'] as const);
    if (inCore) coreCommit(writer, kind, tree, core);
    else refactorSome({ ...writer, isProtected: (other) => writer.isProtected(other) }, kind, tree, 'superproject');
  }
  if (random() < 0.4) editDocumentation(random, tree);
  // Distractions above it may have moved it.
  const moved = lineOf(tree.get(files[0]!)!, regression, line);
  return {
    subject: inCore ? `Bump Megatron-LM (${core.length} commits)` : subject,
    planted: { ...planted, line: moved },
  };
}

function firstDifference(before: string, after: string): number {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const at = fresh.findIndex((text, i) => text !== old[i]);
  return (at < 0 ? old.length : at) + 1;
}

/** Where the first new line of the regression stands now; of a deletion, the line that stood after what went. */
function lineOf(now: string, { edits: [edit] }: Regression, line: number): number {
  if ('key' in edit) return line;
  const old = new Set(edit.find.split('\n'));
  const added = edit.replace.split('\n').find((text) => text !== '' && !old.has(text));
  if (added === undefined) return line;
  const at = now.split('\n').indexOf(added);
  return at < 0 ? line : at + 1;
}
