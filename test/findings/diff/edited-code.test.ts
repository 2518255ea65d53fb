/**
 * Pairs of allocation sites against a known truth: source files are generated, edited as people edit, and run; each
 * statement keeps its identity through the edit.
 */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../../src/attribution/frames/call-site.js';
import { matchSites } from '../../../src/findings/diff/match-sites.js';
import type { StackGroup, TraceLine } from '../../../src/findings/diff/side-stacks.js';

// ---- programs

interface Statement {
  readonly id: number;
  /** Blank lines, comments and statements that do not allocate before it. */
  readonly gap: number;
  readonly bytes: number;
  /** Allocations in the whole trace. */
  readonly allocs: number;
}
type Routine = { readonly id: number; readonly name: string; readonly body: readonly Statement[] };
type File = { readonly path: string; readonly routines: readonly Routine[] };

type Random = (below: number) => number;

/** Mulberry32. */
function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

let lastId = 0;
function statement(random: Random): Statement {
  lastId += 1;
  // Layers of one model allocate the same sizes, as often, at many lines.
  return { id: lastId, gap: random(4), bytes: 2 ** 20 * 2 ** random(4), allocs: 8 * (1 + random(6)) };
}
function routine(random: Random, name: string): Routine {
  lastId += 1;
  return { id: lastId, name, body: Array.from({ length: 1 + random(6) }, () => statement(random)) };
}
function file(random: Random): File {
  // As a file of models has them: several classes with methods of one name.
  const names = ['__init__', 'forward', 'forward', 'rotate', 'forward', 'project', 'loss_of'];
  return { path: '/repo/project/src/model.py', routines: names.map((name) => routine(random, name)) };
}

/** Statement → its line. */
function linesOf({ routines }: File): Map<number, { readonly line: number; readonly name: string }> {
  const lines = new Map<number, { readonly line: number; readonly name: string }>();
  let line = 10;
  for (const { name, body } of routines) {
    line += 3;
    for (const { id, gap } of body) {
      line += 1 + gap;
      lines.set(id, { line, name });
    }
  }
  return lines;
}

interface Run {
  readonly groups: readonly StackGroup[];
  readonly lines: readonly TraceLine[];
  /** Statements by group. */
  readonly ids: readonly number[];
}

/**
 * `isRun`: statements of the trace. `isLive`: those with live memory at the compared moment. `scale`: of sizes, where
 * the configuration changed.
 */
function run(code: File, isRun: (id: number) => boolean, isLive: (id: number) => boolean, scale: number): Run {
  const places = linesOf(code);
  const groups: StackGroup[] = [];
  const lines: TraceLine[] = [];
  const ids: number[] = [];
  for (const { body } of code.routines) {
    for (const { id, bytes, allocs } of body) {
      if (!isRun(id)) continue;
      const site: Frame = { ...places.get(id)!, filename: code.path };
      lines.push({ ...site, allocs, bytes: allocs * bytes * scale });
      if (!isLive(id)) continue;
      const caller: Frame = { name: 'train_step', filename: '/repo/project/src/train.py', line: 40 };
      groups.push({ frames: [site, caller], kind: '', bytes: 2 * bytes * scale, count: 2 });
      ids.push(id);
    }
  }
  return { groups, lines, ids };
}

// ---- edits

const at = <T>(list: readonly T[], index: number, ...items: T[]): T[] => [
  ...list.slice(0, index),
  ...items,
  ...list.slice(index),
];
const changed = (code: File, index: number, change: (routine: Routine) => Routine): File => ({
  ...code,
  routines: code.routines.map((one, i) => (i === index ? change(one) : one)),
});
/** Lines before a statement of a routine. */
const inserted = (code: File, index: number, where: number, lines: number): File =>
  changed(code, index, (one) => ({
    ...one,
    body: one.body.map((each, i) => (i === where % one.body.length ? { ...each, gap: each.gap + lines } : each)),
  }));

type Edit = (code: File, random: Random) => File;
const EDITS: Readonly<Record<string, Edit>> = {
  'nothing edited': (code) => code,
  'lines inserted above': (code, random) => inserted(code, 0, 0, 1 + random(30)),
  'lines inserted below': (code, random) => inserted(code, 6, 5, 1 + random(30)),
  'lines inserted inside': (code, random) => inserted(code, random(7), random(6), 1 + random(12)),
  'two hunks of different length': (code, random) =>
    inserted(inserted(code, random(3), random(6), 1 + random(9)), 4 + random(3), random(6), 1 + random(20)),
  'a function moved': (code, random) => {
    const from = random(7);
    const others = code.routines.filter((_, i) => i !== from);
    return { ...code, routines: at(others, (from + 2 + random(3)) % 7, code.routines[from]!) };
  },
  'a line next to a similar one': (code, random) =>
    changed(code, 1 + random(6), (one) => {
      const where = random(one.body.length);
      const similar = { ...one.body[where]!, id: statement(random).id, gap: random(2) };
      return { ...one, body: at(one.body, where + random(2), similar) };
    }),
  'a function renamed': (code) => changed(code, 3, (one) => ({ ...one, name: 'apply_rotary' })),
  'a function added': (code, random) => ({
    ...code,
    routines: at(code.routines, random(7), routine(random, 'checkpointed')),
  }),
  'a line deleted': (code, random) =>
    changed(code, random(7), (one) => {
      const where = random(one.body.length);
      return { ...one, body: one.body.length === 1 ? one.body : one.body.filter((_, i) => i !== where) };
    }),
  'the file moved, lines inserted': (code, random) => ({
    ...inserted(code, random(7), random(6), 1 + random(12)),
    path: '/repo/project/src/models/llama/model.py',
  }),
};

type Score = Record<'proposed' | 'right' | 'possible', number>;

/** `isTraced`: the traces are known. `share`: per cent of the statements that are live, of each side. */
function measure(edit: Edit, isTraced: boolean, share: number): Score {
  const score = { proposed: 0, right: 0, possible: 0 };
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = randomOf(seed);
    const before = file(random);
    const after = edit(before, random);
    // A configuration takes other branches, and changes sizes.
    const scale = seed % 3 === 0 ? 2 : 1;
    const pick = (percent: number): ((id: number) => boolean) => {
      const salt = random(1e6);
      return (id) => randomOf(id * 7919 + salt)(100) < percent;
    };
    const runs = [run(before, pick(92), pick(share), 1), run(after, pick(92), pick(share), scale)] as const;
    const [a, b] = runs;
    const traces = isTraced ? { a: a.lines, b: b.lines } : undefined;
    for (const { a_groups, b_groups } of matchSites(a.groups, b.groups, traces)) {
      if (a_groups.length === 0 || b_groups.length === 0) continue;
      score.proposed += 1;
      if (a.ids[a_groups[0]!] === b.ids[b_groups[0]!]) score.right += 1;
    }
    score.possible += a.ids.filter((id) => b.ids.includes(id)).length;
  }
  return score;
}

describe.each([
  ['with traces, all live', true, 100, 0.98, 0.98],
  ['with traces, half of the sites live', true, 50, 0.95, 0.97],
  ['without traces, most of the sites live', false, 90, 0.97, 0.97],
  ['without traces, half of the sites live', false, 50, 0.7, 0.79],
] as const)('%s', (_, isTraced, share, precision, recall) => {
  it.each(Object.entries(EDITS))('%s', (name, edit) => {
    const { proposed, right, possible } = measure(edit, isTraced, share);
    const score = `${name}: ${right} right of ${proposed} proposed and ${possible} possible`;
    expect(right / proposed, score).toBeGreaterThanOrEqual(precision);
    expect(right / possible, score).toBeGreaterThanOrEqual(recall);
  });
});
