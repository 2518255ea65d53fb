/** Why a run needs more than another: changed hunks and settings, the likeliest first. */

import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { DiffComponent } from '../../model/diff-parts.js';
import { type ChangedHunk, type CommitComparison, commitsTouching } from '../../model/git.js';
import type { ChangedValue, FoundSuspect } from '../../model/results/compare.js';
import { sentencesOf } from '../../model/statement.js';
import type { GrownSite } from '../diff/grown-sites.js';
import { type Growth, readGrowth } from './growth.js';
import { isSettingsFile, knobHunks, type Place, programSettings } from './knob-hunks.js';
import { componentWords } from './memory-words.js';
import { type ReadFile, type ReadHunk, readChanges } from './read-changes.js';
import { fileMatcher } from './repository-paths.js';
import { type Scored, scoreHunk, signOf, type Visits, visitsOf } from './score-hunk.js';
import { type Failure, scoreCodeOfFailure, scoreKnob, scorePin, scoreVersion } from './score-knob.js';

const sentence = sentencesOf('suspects');

export interface SuspectInput {
  /** Null without a repository: only settings are scored. */
  readonly comparison: CommitComparison | null;
  readonly sites: readonly GrownSite[];
  readonly components: readonly DiffComponent[];
  readonly config: readonly ChangedValue[];
  readonly env: readonly ChangedValue[];
  readonly versions: readonly ChangedValue[];
  /**
   * b − a of all that is compared, in bytes; what exceeds the sites and components shown is reserved, or outside torch.
   */
  readonly totalDeltaBytes: number | null;
  /** What got worse. */
  readonly direction: 'memory' | 'time';
  /** What ended the newer run and not the older one; null where both ended alike, or the cause is not known. */
  readonly failure: Failure | null;
}

/**
 * Whether a changed file matters to stacks that grew, or may set something: passed to `compareCommits`, which reads the
 * texts of these files before a limit is reached.
 */
export function isOfInterest(sites: readonly GrownSite[]): (path: string) => boolean {
  const names = new Set<string>();
  for (const { a_frames, b_frames } of sites) {
    for (const { filename } of [...a_frames, ...b_frames]) names.add(baseName(filename));
  }
  return (path) => names.has(baseName(path)) || /\.(?:ya?ml|toml|sh|cfg|ini)$/.test(path);
}

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const LEAST = threshold('suspects.least_listed');
const MOST_UNSEEN = threshold('suspects.most_unseen');
const MOST_TIME = threshold('suspects.most_unseen_time');
const SUBJECTS_KEPT = 50;
const MOST_HUNKS = 200;
const IN_PROGRAM = threshold('suspects.in_program');
const ASIDE = threshold('suspects.aside');

interface Ranked {
  readonly suspect: FoundSuspect;
  /** The position among equals. */
  readonly line: number;
}

/** The inputs of every part of the list. */
interface Scene {
  readonly input: SuspectInput;
  readonly comparison: CommitComparison | null;
  readonly growth: Growth;
  readonly files: readonly ReadFile[];
  readonly visits: Visits;
  /** Hunks that are listed with a setting. */
  readonly taken: Set<ReadHunk>;
}

/**
 * In descending order of the score, then by place; the same input gives the same list. Above 0.8: a changed line that
 * most of the growth goes through, or a setting whose components explain most of it. Hunks that change only formatting
 * are left out.
 */
export function rankSuspects(input: SuspectInput): FoundSuspect[] {
  const { comparison } = input;
  const growth = readGrowth(input.sites, input.components, input.totalDeltaBytes);
  const changed = comparison?.files ?? [];
  const visits = visitsOf(growth, fileMatcher(changed, 'new'), fileMatcher(changed, 'old'));
  const scene: Scene = { input, comparison, growth, files: readChanges(changed), visits, taken: new Set() };
  // Settings first: they take the hunks that set them.
  return [...knobSuspects(scene), ...dependencySuspects(scene), ...hunkSuspects(scene)]
    .map(({ suspect, line }) => ({ line, suspect: { ...suspect, score: Math.round(suspect.score * 1000) / 1000 } }))
    .filter(({ suspect }) => suspect.score >= LEAST)
    .sort(
      (p, q) =>
        q.suspect.score - p.suspect.score ||
        compare(p.suspect.file, q.suspect.file) ||
        p.line - q.line ||
        compare(p.suspect.key ?? '', q.suspect.key ?? ''),
    )
    .map(({ suspect }) => suspect);
}

function knobSuspects(scene: Scene): Ranked[] {
  const { input, files, taken } = scene;
  const knobs = knobHunks(files);
  const ranked = [...input.config, ...input.env].map((change) =>
    knobSuspect(scene, change, scoreSetting(scene, change), knobs.placeOf(change)),
  );
  if (input.config.length > 0) return ranked;
  // Runs without settings: the configurations in the repository are better than nothing.
  for (const { change, place } of knobs.changes()) {
    if (taken.has(place.hunk) || input.env.some(({ key }) => key === change.key)) continue;
    const { score, reason } = scoreSetting(scene, change);
    const scored = { score: score * 0.5, reason: sentence('file_unknown', { reason }) };
    ranked.push(knobSuspect(scene, change, scored, place));
  }
  return ranked;
}

const scoreSetting = ({ input, growth }: Scene, change: ChangedValue): Scored =>
  scoreKnob(change, growth, input.direction, input.failure);

/** A setting, with the hunk that sets it if there is one; the higher of their scores counts. */
function knobSuspect(scene: Scene, { key }: ChangedValue, scored: Scored, place: Place | undefined): Ranked {
  if (place === undefined) return { line: 0, suspect: keyOnly(key, scored) };
  const { file, hunk, isProven } = place;
  scene.taken.add(hunk);
  const hunkScore = scoreInFile(scene, file, hunk);
  const suspect: FoundSuspect = {
    file: file.path,
    hunk: hunkHeader(hunk.hunk),
    key,
    reason:
      hunkScore.score > scored.score
        ? sentence('set_in_hunk', { reason: scored.reason, hunk: hunkScore.reason })
        : scored.reason,
    ...(scored.cause === undefined ? {} : { cause: scored.cause }),
    score: Math.min(0.98, Math.max(scored.score, hunkScore.score) + (isProven ? 0.01 : 0)),
    commits: touching(scene, file),
    lines: hunk.shown,
  };
  return { line: hunk.hunk.new_start, suspect };
}

function dependencySuspects({ input, comparison, growth }: Scene): Ranked[] {
  const pins = comparison?.submodules ?? [];
  const pinned = pins.map((pin): Ranked => {
    const commits = commitsOf(comparison?.commits.filter(({ paths }) => paths.includes(pin.path)) ?? []);
    return { line: 0, suspect: { ...keyOnly(pin.path, scorePin(pin, growth, input.direction)), commits } };
  });
  // A version that is the pin of a submodule is that submodule.
  const isPin = ({ a, b }: ChangedValue): boolean =>
    pins.some(({ from, to }) => isBeginning(a, from) && isBeginning(b, to));
  const versions = input.versions
    .filter((change) => !isPin(change))
    .map((change) => ({ line: 0, suspect: keyOnly(change.key, scoreVersion(change, growth, input.direction)) }));
  return [...pinned, ...versions];
}

function hunkSuspects(scene: Scene): Ranked[] {
  const scored = scene.files.flatMap((file) =>
    file.hunks.flatMap((hunk) => {
      if (scene.taken.has(hunk)) return [];
      const { score, reason } = scoreInFile(scene, file, hunk);
      return score < LEAST ? [] : [{ file, hunk, score, reason, line: hunk.hunk.new_start }];
    }),
  );
  return (
    scored
      .sort((p, q) => q.score - p.score || compare(p.file.path, q.file.path) || p.line - q.line)
      // A release of a framework changes thousands of places without evidence for any of them.
      .slice(0, MOST_HUNKS)
      .map(({ file, hunk, score, reason, line }) => {
        const header = hunkHeader(hunk.hunk);
        const commits = touching(scene, file);
        return { line, suspect: { file: file.path, hunk: header, reason, score, commits, lines: hunk.shown } };
      })
  );
}

function scoreInFile(scene: Scene, file: ReadFile, hunk: ReadHunk): Scored {
  if (hunk.weight === 0) return { score: 0, reason: '' };
  const hunkScore = scene.input.direction === 'time' ? timeHunk(scene, file, hunk) : codeOfFailure(scene, file, hunk);
  const set = isProgram(file) && !isSettingsFile(file) ? settingInHunk(scene, hunk) : undefined;
  const scored = set !== undefined && set.score > hunkScore.score ? set : hunkScore;
  return file.is_aside ? { ...scored, score: scored.score * ASIDE } : scored;
}

/**
 * A line of a program that sets a known setting: what it configures may allocate elsewhere, so that no stack leads to
 * the line.
 */
function settingInHunk(scene: Scene, hunk: ReadHunk): Scored | undefined {
  const [best] = programSettings(hunk)
    .map((change) => ({ key: change.key, ...scoreSetting(scene, change) }))
    .sort((p, q) => q.score - p.score || compare(p.key, q.key));
  if (best === undefined) return undefined;
  return {
    score: IN_PROGRAM * best.score * hunk.weight,
    reason: sentence('sets', { key: best.key, reason: best.reason }),
  };
}

const compare = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);

function codeOfFailure(scene: Scene, file: ReadFile, hunk: ReadHunk): Scored {
  const { failure } = scene.input;
  const scored = memoryHunk(scene, file, hunk);
  return failure === null ? scored : scoreCodeOfFailure(scored, failure);
}

function memoryHunk({ visits, growth }: Scene, file: ReadFile, hunk: ReadHunk): Scored {
  const seen = scoreHunk(file, hunk, visits.get(file.index), growth);
  const unseen = unseenHunk(file, hunk, growth);
  return seen !== undefined && seen.score >= unseen.score ? seen : unseen;
}

/**
 * The score from words and place, where no stack passes: stacks may lack Python frames, and a run may be without any
 * snapshot.
 */
function unseenHunk(file: ReadFile, hunk: ReadHunk, growth: Growth): Scored {
  const sign = signOf(hunk);
  // Share of the growth without a line of a program.
  const blind =
    growth.bytes === 0
      ? growth.component_bytes > 0 || growth.beyond > 0
        ? 1
        : 0
      : growth.stacks.reduce((sum, { owner, share }) => sum + (owner === '' ? share : 0), 0);
  const where = componentWords(`${file.path} ${hunk.hunk.context}`, growth);
  const base = isProgram(file) ? 0.04 : 0.03;
  const score =
    (base + (sign === null ? 0 : 0.04) + blind * (0.22 * where.share + (sign === null ? 0 : 0.1))) * hunk.weight;
  const named =
    where.component !== undefined && blind > 0 ? sentence('component_place', { component: where.component }) : null;
  const why = growth.bytes > 0 && blind < 1 ? sentence('no_stack') : sentence('no_stacks');
  return { score: Math.min(score, MOST_UNSEEN), reason: sentence('unseen', { place: named, why, sign }) };
}

function timeHunk({ visits, growth }: Scene, file: ReadFile, hunk: ReadHunk): Scored {
  const seen = scoreHunk(file, hunk, visits.get(file.index), growth);
  const base = (isProgram(file) ? 0.06 : 0.03) + (hunk.slow === null ? 0 : 0.24);
  const word = hunk.slow === null ? sentence('not_on_time') : sentence('on_time', { word: hunk.slow });
  return {
    score: Math.min(MOST_TIME, base * hunk.weight + 0.15 * (seen?.score ?? 0)),
    reason: seen === undefined ? word : sentence('in_hunk', { word, reason: seen.reason }),
  };
}

const isProgram = ({ language }: ReadFile): boolean => language === 'python' || language === 'slash';

function keyOnly(key: string, { score, reason, ...cause }: Scored): FoundSuspect {
  return { file: '', key, reason, ...cause, score, commits: [], lines: [] };
}

function touching({ comparison }: Scene, { file }: ReadFile): FoundSuspect['commits'] {
  return comparison === null ? [] : commitsOf(commitsTouching(comparison.commits, file));
}

function commitsOf(commits: CommitComparison['commits']): FoundSuspect['commits'] {
  return commits.slice(0, SUBJECTS_KEPT).map(({ sha, subject }) => ({ sha, subject }));
}

/** Ids of versions are often abbreviated. */
const isBeginning = (id: string | null, whole: string | null): boolean =>
  id !== null && whole !== null && id.length >= 7 && whole.startsWith(id.toLowerCase());

/** As git writes it, so that it can be searched for. */
export function hunkHeader({ old_start, old_lines, new_start, new_lines, context }: ChangedHunk): string {
  const range = (start: number, lines: number): string => (lines === 1 ? `${start}` : `${start},${lines}`);
  const head = `@@ -${range(old_start, old_lines)} +${range(new_start, new_lines)} @@`;
  return context === '' ? head : `${head} ${context}`;
}
