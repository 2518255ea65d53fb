import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../parsers/log/index.js';
import { readProcesses, reservedOf, unallocatedOf } from '../../src/knowledge/oom-figures.js';
import { oomGrammar, oomWordings } from '../../src/knowledge/oom-messages.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { SEED } from '../support/level.js';
import { type ExpectedIncident, messageSamples } from '../support/log-samples.js';

const WORDINGS = oomWordings();
const { families: FAMILIES, units: UNITS } = oomGrammar();
type Sample = readonly [entry: (typeof WORDINGS)[number], text: string, expected: ExpectedIncident | null];
const SAMPLES: readonly Sample[] = WORDINGS.flatMap((entry) =>
  messageSamples(entry.id).map(({ text, expected }): Sample => [entry, text, expected]),
);

const printed = (row: IncidentRow): Record<string, string> =>
  Object.fromEntries(Object.entries(row.bytes).map(([field, { text }]) => [field, text]));

function only(rows: readonly IncidentRow[]): IncidentRow {
  expect(rows.map(({ kind }) => kind)).toHaveLength(1);
  return rows[0]!;
}

function checkFigures(row: IncidentRow, expected: ExpectedIncident): void {
  expect(printed(row)).toEqual(expected.bytes ?? {});
  expect(row.processes.map(({ pid, printed: { text } }) => ({ pid, text }))).toEqual(expected.processes ?? []);
  if (expected.pid !== undefined) expect(row.pid).toBe(expected.pid);
}

/** Every figure found is one that was printed; some may be missing. */
function checkSomeFigures(row: IncidentRow, expected: ExpectedIncident): void {
  const all: Readonly<Record<string, string>> = expected.bytes ?? {};
  for (const [field, figure] of Object.entries(printed(row))) {
    // Of several processes, those after a cut are missing from the sum.
    if (field === 'otherProcess') expect(all[field]).toContain(figure);
    else expect(figure).toBe(all[field]);
  }
}

describe('the grammar', () => {
  it('has unique ids, samples, a source and anchors the scanner can use', () => {
    expect(new Set(WORDINGS.map(({ id }) => id)).size).toBe(WORDINGS.length);
    for (const { id, source, versions } of WORDINGS) {
      expect(messageSamples(id).length, id).toBeGreaterThan(0);
      expect(source).not.toBe('');
      expect(versions).not.toBe('');
    }
    for (const { anchors } of FAMILIES) {
      for (const anchor of anchors) expect(anchor.length).toBeGreaterThanOrEqual(8);
    }
    // One bit per family and one for device-side asserts.
    expect(FAMILIES.length).toBeLessThan(30);
  });

  it('names only pieces and contexts of its family', () => {
    for (const { id, family, when } of WORDINGS) {
      const names = [...family.pieces, ...(family.contexts ?? [])].map(({ name }) => name);
      for (const name of when ?? []) expect(names, id).toContain(name);
    }
  });

  it.each(SAMPLES)('$id reads its sample', (entry, text, expected) => {
    const rows = incidentsInText(text);
    if (expected === null) {
      expect(rows).toEqual([]);
      return;
    }
    const row = only(rows);
    expect({ kind: row.kind, grammar: row.grammar }).toEqual({ kind: entry.kind, grammar: entry.id });
    checkFigures(row, expected);
    expect(row.device).toBe(expected.device ?? null);
    if (expected.exception !== undefined) expect(row.exception).toBe(expected.exception);
  });

  it.each(SAMPLES)('$id reads its sample behind prefixes repeated on every line', (entry, text, expected) => {
    if (expected === null) return;
    const prefixed = text
      .split('\n')
      .map((line) => `[default3]:[rank11]:${line}`)
      .join('\n');
    const row = only(incidentsInText(prefixed));
    expect(row.rank).toBe(11);
    expect(row.rankOrigin).toBe('prefix:[rankN]:');
    checkFigures(row, expected);
    expect(row.kind).toBe(entry.kind);
  });

  const torch = SAMPLES.filter(([{ family }]) => family.name === 'torch');
  /** Long enough that a wrap leaves an anchor whole within four lines. */
  const long = torch.filter(([, , expected]) => expected?.bytes?.total !== undefined);

  it('reads a message wrapped at any column, inside words too', () => {
    fc.assert(
      fc.property(fc.constantFrom(...torch), fc.integer({ min: 40, max: 200 }), ([entry, text, expected], columns) => {
        const wrapped = text.replace(new RegExp(`(.{${columns}})(?=.)`, 'g'), '$1\n');
        const row = only(incidentsInText(wrapped));
        expect(row.kind).toBe(entry.kind);
        if (columns >= 60) checkFigures(row, expected ?? {});
        // In narrower text a cut number looks like two numbers: then a figure may be missing, but not wrong.
        else checkSomeFigures(row, expected ?? {});
      }),
      { numRuns: 400, seed: SEED },
    );
  });

  it('reads a message wrapped between words, indented, quoted or commented', () => {
    const joins = ['\n', '\n    ', ' "\n      "', '\n# ', '\n> ', ' |\n| ', '\\n', '\r\n'];
    fc.assert(
      fc.property(
        fc.constantFrom(...long),
        fc.constantFrom(...joins),
        fc.integer({ min: 4, max: 30 }),
        ([entry, text, expected], join, every) => {
          const words = text.split(' ');
          const wrapped = words.map((word, index) => word + (index % every === every - 1 ? join : ' ')).join('');
          const row = only(incidentsInText(wrapped));
          expect(row.kind).toBe(entry.kind);
          checkFigures(row, expected ?? {});
        },
      ),
      { numRuns: 400, seed: SEED },
    );
  });

  it('reads what is left of a message cut anywhere, and never a wrong figure', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...long),
        fc.double({ min: 0.3, max: 1, noNaN: true }),
        ([, text, expected], share) => {
          const least = text.indexOf('Tried to allocate');
          const cut = least + Math.floor((text.length - least) * share);
          const rows = incidentsInText(`${text.slice(0, cut)}...`);
          const row = only(rows);
          checkSomeFigures(row, expected ?? {});
        },
      ),
      { numRuns: 400, seed: SEED },
    );
  });

  it('separates glued messages', () => {
    const headed = torch.filter(([, text]) => text.includes('out of memory'));
    fc.assert(
      fc.property(fc.constantFrom(...headed), fc.constantFrom(...headed), (first, second) => {
        const rows = incidentsInText(`${first[1]}${second[1]}`);
        expect(rows.map(({ grammar }) => grammar).length).toBe(2);
        checkFigures(rows[1]!, second[2] ?? {});
      }),
      { numRuns: 200, seed: SEED },
    );
  });
});

describe('figures', () => {
  it('are 1024-based, with half of the last digit as precision', () => {
    const row = only(incidentsInText('RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB'));
    expect(row.bytes.requested).toEqual({
      bytes: 1.5 * 1024 ** 3,
      text: '1.50 GiB',
      precisionBytes: 0.005 * 1024 ** 3,
    });
    expect(UNITS['mps']?.['GB']).toBe(1024 ** 3);
  });

  const bytes = (value: number) => ({ bytes: value, text: '', precisionBytes: 1 });

  it('derive reserved and unallocated from each other', () => {
    const old = { bytes: { allocated: bytes(100), reserved: bytes(130) } };
    expect(unallocatedOf(old)).toEqual({ bytes: 30, precisionBytes: 2 });
    expect(reservedOf(old)).toEqual({ bytes: 130, precisionBytes: 1 });
    // The private pools' free blocks are inside "allocated" already.
    const recent = { bytes: { allocated: bytes(100), reservedUnallocated: bytes(30), privatePool: bytes(10) } };
    expect(reservedOf(recent)).toEqual({ bytes: 130, precisionBytes: 2 });
    expect(reservedOf({ bytes: {} })).toBeNull();
  });

  it('take a listed process for the failing one only where exactly one can be', () => {
    const figures = { allocated: bytes(100), reservedUnallocated: bytes(30) };
    const process = (pid: number, size: number) => ({ pid, printed: bytes(size) });
    const incident = readProcesses({ bytes: figures, processes: [process(1, 140), process(2, 20)] });
    expect(incident).toEqual({
      self: { bytes: 140, precisionBytes: 1 },
      others: { bytes: 20, precisionBytes: 1 },
      selfPid: 1,
      ambiguous: true,
    });
    const two = readProcesses({ bytes: figures, processes: [process(1, 140), process(2, 150)] });
    expect(two).toMatchObject({ self: null, others: { bytes: 290 }, selfPid: null, ambiguous: true });
    const named = readProcesses({ bytes: { ...figures, process: bytes(135) }, processes: [process(2, 150)] });
    expect(named).toMatchObject({ self: { bytes: 135 }, others: { bytes: 150 }, ambiguous: false });
    expect(readProcesses({ bytes: figures, processes: [] })).toMatchObject({
      self: null,
      others: null,
      ambiguous: false,
    });
  });
});

describe('sentences about memory', () => {
  it.each([
    'Reduce the batch size to avoid running out of memory.',
    'prompt: "a sign that says CUDA out of memory"',
    'RuntimeError: the slot table is out of memory blocks',
  ])('%s', (text) => {
    expect(incidentsInText(text).map(({ kind }) => kind)).toEqual(['negative_text']);
  });

  it('leave sources and ordinary lines alone', () => {
    expect(incidentsInText('    except torch.cuda.OutOfMemoryError:\n        torch.cuda.empty_cache()')).toEqual([]);
    expect(incidentsInText('NCCL INFO Bootstrap : Using eth0\nAvailable KV cache memory: 12.10 GiB')).toEqual([]);
  });
});
