/** Why a run needs more than another: changed hunks and settings, the likeliest first. */
import type { ChangedValue, Suspect } from '../../model/compare-results.js';
import type { DiffComponent } from '../../model/diff-results.js';
import { type ChangedHunk, type CommitComparison, commitsTouching } from '../../model/git.js';
import type { GrownSite } from '../diff/grown-sites.js';
import { componentWords } from './component-words.js';
import { type Growth, readGrowth } from './growth.js';
import { KnobHunks, type Place } from './knob-hunks.js';
import { type ReadFile, type ReadHunk, readChanges } from './read-changes.js';
import { fileMatcher } from './repository-paths.js';
import { signText, type Visits, visitsOf, type Weighed, weighHunk } from './weigh-hunk.js';
import { weighKnob, weighPin, weighVersion } from './weigh-knob.js';

export interface SuspectInput {
  /** Null without a repository: settings alone are weighed. */
  readonly comparison: CommitComparison | null;
  readonly sites: readonly GrownSite[];
  readonly components: readonly DiffComponent[];
  readonly config: readonly ChangedValue[];
  readonly env: readonly ChangedValue[];
  readonly versions: readonly ChangedValue[];
  /** b − a of all that is compared, in bytes; more than sites and components show is reserved, or outside of torch. */
  readonly totalDeltaBytes: number | null;
  /** What got worse. */
  readonly direction: 'memory' | 'time';
}

/** What is less likely is not worth a line. */
const LEAST = 0.03;
/** Hunks that no stack leads to are never surer than this. */
const MOST_UNSEEN = 0.4;
const MOST_TIME = 0.5;
const SUBJECTS_KEPT = 50;

interface Ranked {
  readonly suspect: Suspect;
  /** Where equals stand. */
  readonly line: number;
}

/**
 * In descending order of the score, then by place; the same input gives the same list. Above 0.8: a changed line that most of the growth goes
 * through, or a setting whose components explain most of it. Hunks that change nothing but looks are left out.
 */
export function rankSuspects(input: SuspectInput): Suspect[] {
  const { comparison, direction } = input;
  const growth = readGrowth(input.sites, input.components, input.totalDeltaBytes);
  const files = readChanges(comparison?.files ?? []);
  const visits =
    comparison === null
      ? new Map()
      : visitsOf(growth, fileMatcher(comparison.files, 'new'), fileMatcher(comparison.files, 'old'));
  const hunkWeight = (file: ReadFile, hunk: ReadHunk): Weighed =>
    direction === 'time' ? timeHunk(file, hunk, visits, growth) : memoryHunk(file, hunk, visits, growth);

  const ranked: Ranked[] = [];
  const taken = new Set<ReadHunk>();
  const knobs = new KnobHunks(files);
  const addKnob = (change: ChangedValue, weighed: Weighed, place: Place | undefined): void => {
    const own = place === undefined ? undefined : hunkWeight(place.file, place.hunk);
    if (place !== undefined) taken.add(place.hunk);
    const isOwn = own !== undefined && own.score > weighed.score;
    const score = Math.min(0.98, Math.max(weighed.score, own?.score ?? 0) + (place?.isProven === true ? 0.01 : 0));
    ranked.push({
      line: place?.hunk.hunk.new_start ?? 0,
      suspect: {
        file: place?.file.path ?? '',
        ...(place === undefined ? {} : { hunk: hunkHeader(place.hunk.hunk) }),
        key: change.key,
        reason: isOwn ? `${weighed.reason}; ${own.reason}` : weighed.reason,
        score,
        commits: place === undefined ? [] : touching(comparison, place.file),
        lines: place?.hunk.shown ?? [],
      },
    });
  };
  for (const change of [...input.config, ...input.env]) {
    addKnob(change, weighKnob(change, growth, direction), knobs.placeOf(change));
  }
  // Runs without settings: what configurations in the repository say is better than nothing.
  if (input.config.length === 0) {
    const known = new Set(input.env.map(({ key }) => key));
    for (const { change, place } of knobs.changes()) {
      if (known.has(change.key) || taken.has(place.hunk)) continue;
      const { score, reason } = weighKnob(change, growth, direction);
      addKnob(
        change,
        { score: score * 0.5, reason: `${reason}; whether these runs use this file is not known` },
        place,
      );
    }
  }
  const pins = comparison?.submodules ?? [];
  for (const change of input.versions) {
    // The same as the pin, which has a place.
    if (pins.some(({ from, to }) => isBeginning(change.a, from) && isBeginning(change.b, to))) continue;
    ranked.push({ line: 0, suspect: keyOnly(change.key, weighVersion(change, growth, direction)) });
  }
  for (const pin of pins) {
    const commits = commitsOf(comparison?.commits.filter(({ paths }) => paths.includes(pin.path)) ?? []);
    ranked.push({ line: 0, suspect: { ...keyOnly(pin.path, weighPin(pin, growth, direction)), commits } });
  }
  for (const file of files) {
    for (const hunk of file.hunks) {
      if (taken.has(hunk)) continue;
      const { score, reason } = hunkWeight(file, hunk);
      if (score < LEAST) continue;
      const { shown } = hunk;
      const header = hunkHeader(hunk.hunk);
      ranked.push({
        line: hunk.hunk.new_start,
        suspect: { file: file.path, hunk: header, reason, score, commits: touching(comparison, file), lines: shown },
      });
    }
  }
  return ranked
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

const compare = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);

function memoryHunk(file: ReadFile, hunk: ReadHunk, visits: Visits, growth: Growth): Weighed {
  if (hunk.weight === 0) return { score: 0, reason: '' };
  const seen = weighHunk(file, hunk, visits.get(file.index) ?? [], growth);
  const unseen = unseenHunk(file, hunk, growth);
  const best = seen !== undefined && seen.score >= unseen.score ? seen : unseen;
  return file.is_aside ? { ...best, score: best.score * 0.05 } : { ...best, score: Math.min(best.score, 0.97) };
}

/** What its words and its place say where no stack comes by: stacks may lack Python frames, and a run may have no snapshot at all. */
function unseenHunk(file: ReadFile, hunk: ReadHunk, growth: Growth): Weighed {
  const isProgram = file.language === 'python' || file.language === 'slash';
  const sign = signText(hunk);
  // Share of the growth that has no line of a program to show.
  const blind =
    growth.bytes === 0
      ? growth.component_bytes > 0 || growth.beyond > 0
        ? 1
        : 0
      : growth.stacks.reduce((sum, { owner, share }) => sum + (owner === '' ? share : 0), 0);
  const where = componentWords(`${file.path} ${hunk.hunk.context}`, growth);
  const base = isProgram ? 0.04 : 0.03;
  const score =
    (base + (sign === '' ? 0 : 0.04) + blind * (0.22 * where.share + (sign === '' ? 0 : 0.1))) * hunk.weight;
  const named =
    where.component !== undefined && blind > 0 ? `by its place it may hold ${where.component}, which grew` : '';
  const why =
    growth.bytes > 0 && blind < 1 ? 'no stack that grew goes through these lines' : 'no stacks say which lines grew';
  return { score: Math.min(score, MOST_UNSEEN), reason: `${named === '' ? why : `${named}; ${why}`}${sign}` };
}

function timeHunk(file: ReadFile, hunk: ReadHunk, visits: Visits, growth: Growth): Weighed {
  if (hunk.weight === 0) return { score: 0, reason: '' };
  const seen = weighHunk(file, hunk, visits.get(file.index) ?? [], growth);
  const isProgram = file.language === 'python' || file.language === 'slash';
  const base = (isProgram ? 0.06 : 0.03) + (hunk.slow === null ? 0 : 0.24);
  const score = Math.min(MOST_TIME, base * hunk.weight + 0.15 * (seen?.score ?? 0));
  const word = hunk.slow === null ? 'nothing in it is known to bear on time' : `\`${hunk.slow}\` in it bears on time`;
  const reason = seen === undefined ? word : `${word}; ${seen.reason}`;
  return { score: file.is_aside ? score * 0.05 : score, reason };
}

function keyOnly(key: string, { score, reason }: Weighed): Suspect {
  return { file: '', key, reason, score, commits: [], lines: [] };
}

function touching(comparison: CommitComparison | null, { file }: ReadFile): Suspect['commits'] {
  return comparison === null ? [] : commitsOf(commitsTouching(comparison.commits, file));
}

function commitsOf(commits: CommitComparison['commits']): Suspect['commits'] {
  return commits.slice(0, SUBJECTS_KEPT).map(({ sha, subject }) => ({ sha, subject }));
}

/** Ids of versions are shortened as people like. */
const isBeginning = (id: string | null, whole: string | null): boolean =>
  id !== null && whole !== null && id.length >= 7 && whole.startsWith(id.toLowerCase());

/** As git writes it, so that it can be looked for. */
export function hunkHeader({ old_start, old_lines, new_start, new_lines, context }: ChangedHunk): string {
  const range = (start: number, lines: number): string => (lines === 1 ? `${start}` : `${start},${lines}`);
  const head = `@@ -${range(old_start, old_lines)} +${range(new_start, new_lines)} @@`;
  return context === '' ? head : `${head} ${context}`;
}
