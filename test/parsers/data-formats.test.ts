/** What TypeScript checks of a format in code, of `src/knowledge/log-formats/`. `log-formats.test.ts` reads samples. */
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { describe, expect, it } from 'vitest';
import { compileBlock, compileFormat } from '../../parsers/log/formats/data-format.js';
import {
  type BlockEntry,
  FILE_SHAPE,
  type FormatEntry,
  type FormatFile,
  type Row,
} from '../../parsers/log/formats/format-shape.js';
import { LOG_FORMATS } from '../../parsers/log/formats/index.js';
import { dataNames, loadData } from '../../src/knowledge/load-data.js';
import { checkShape } from '../../src/text/check-shape.js';

const FILES = dataNames()
  .filter((name) => name.startsWith('log-formats/'))
  .map((name) => [name, loadData(name) as FormatFile] as const);
const ENTRIES = FILES.flatMap(([, file]) =>
  file.formats.flatMap((entry) => ('rows' in entry ? [[entry.id, entry, file] as const] : [])),
);
const BLOCKS = FILES.flatMap(([, file]) =>
  file.formats.flatMap((entry) => ('lines' in entry ? [[entry.id, entry, file] as const] : [])),
);

/** What must be in the match of an anchor that goes on before or behind it. */
const LEAST_OVERLAP = 6;

/** Whether some text that a pattern matches may contain a word; look-aheads take part in it or not. */
function mayContain(pattern: RegExp, word: string): boolean {
  const ignoresCase = pattern.flags.includes('i');
  /** How many characters of the word are behind us: none, some, or all of them. */
  type States = ReadonlySet<number>;
  const union = (...all: readonly States[]): States => new Set(all.flatMap((states) => [...states]));
  const char = (states: States, test: RegExp): States => {
    const next = new Set<number>();
    for (const state of states) {
      if (state === 0 || state === word.length) next.add(state);
      if (state < word.length && test.test(word[state]!)) next.add(state + 1);
    }
    return next;
  };
  const step = (node: AST.Element | AST.Alternative, states: States): States => {
    switch (node.type) {
      case 'Alternative':
        return node.elements.reduce((kept, element) => step(element, kept), states);
      case 'Group':
      case 'CapturingGroup':
        return union(...node.alternatives.map((alternative) => step(alternative, states)));
      case 'Assertion':
        if (node.kind !== 'lookahead' || node.negate) return states;
        return union(states, ...node.alternatives.map((alternative) => step(alternative, states)));
      case 'Quantifier': {
        let kept = states;
        for (let count = 0; count < node.min && count <= word.length; count += 1) kept = step(node.element, kept);
        for (let count = node.min; count < node.max && count <= node.min + word.length; count += 1)
          kept = union(kept, step(node.element, kept));
        return kept;
      }
      default:
        return char(states, new RegExp(`^${node.raw}$`, ignoresCase ? 'i' : ''));
    }
  };
  const { alternatives } = new RegExpParser().parsePattern(pattern.source);
  const starts = new Set([0, ...Array.from({ length: Math.max(0, word.length - LEAST_OVERLAP) }, (_, at) => at + 1)]);
  return alternatives.some((alternative) =>
    [...step(alternative, starts)].some((state) => state >= Math.min(LEAST_OVERLAP, word.length)),
  );
}

/** Groups that a failure's row takes where they are. */
const columnsOf = (rows: unknown): string[] =>
  JSON.stringify(rows).includes('"failure"') ? ['text', 'rank', 'local', 'pid', 'host', 'exitcode'] : [];

describe('formats that are data', () => {
  it('have the shape that FORMAT.md describes', () => {
    for (const [name, file] of FILES) {
      expect(checkShape(file, FILE_SHAPE), name).toEqual([]);
    }
  });

  it('make up the list with those in code, each of which is complete', () => {
    const listed = FILES.flatMap(([, { formats }]) => formats.map(({ id }) => id));
    expect(LOG_FORMATS.map(({ id }) => id).sort()).toEqual(listed.sort());
    for (const format of LOG_FORMATS) {
      expect(format.anchors, format.id).toBeInstanceOf(Array);
      if (format.form === 'line') expect(format.read, format.id).toBeInstanceOf(Function);
      else expect(format.begin, format.id).toBeInstanceOf(Function);
    }
  });

  it.each(ENTRIES)('%s uses its groups, and no others', (_id, entry: FormatEntry, file) => {
    const used = new Set<string>();
    const { pattern } = compileFormat(entry, file, used);
    const groups = groupsOf(pattern.source);
    const inner = entry.rows.flatMap(innerGroups);
    const unknown = [...used].filter((name) => ![...groups, ...inner, ...columnsOf(entry.rows)].includes(name));
    expect(unknown, 'groups that the pattern does not have').toEqual([]);
    const unused = groups.filter((name) => !used.has(name));
    expect(unused.sort(), 'groups that no row uses').toEqual([...(entry.unused ?? file.unused ?? [])].sort());
  });

  it.each(BLOCKS)('%s uses groups of its lines', (_id, entry: BlockEntry, file) => {
    const used = new Set<string>();
    compileBlock(entry, file, used);
    const parts = Object.values(file.parts ?? {});
    const groups = [entry.opens, ...parts, ...entry.lines.map(({ match }) => match)].flatMap(groupsOf);
    const rows = [...entry.lines, { rows: entry.start }, { rows: entry.end }].flatMap(({ rows: some = [] }) => some);
    const known = ['lines', ...columnsOf(entry.lines), ...groups, ...rows.flatMap(innerGroups)];
    expect([...used].filter((name) => !known.includes(name))).toEqual([]);
  });

  it.each(ENTRIES)('%s has anchors that its lines may contain', (_id, entry: FormatEntry, file) => {
    const { pattern } = compileFormat(entry, file);
    expect(entry.anchors.filter((anchor) => !mayContain(pattern, anchor))).toEqual([]);
  });

  it('are refused with a conversion that does not exist', () => {
    const [, entry, file] = ENTRIES[0]!;
    const rows = [{ value: 'x', of: `${groupsOf(String(entry.pattern))[0]}|guess` }];
    expect(() => compileFormat({ ...entry, rows }, file)).toThrow('no conversion guess');
  });
});

function groupsOf(source: string): string[] {
  return [...new Set([...source.matchAll(/\(\?<(\w+)>/g)].map(([, name]) => name!))];
}

function innerGroups(row: Row): string[] {
  return 'each' in row ? [...groupsOf(row.match), ...row.rows.flatMap(innerGroups)] : [];
}
