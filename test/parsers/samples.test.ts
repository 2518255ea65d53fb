/**
 * Files as users have them, and what their parser reads of each: `samples/<parser>.yaml`. A sample has one line for
 * each thing that is expected; `Sample` explains them.
 */
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import type { IncidentRow } from '../../src/model/tables.js';
import { type Collected, claimed, collectRows } from '../support/collect-rows.js';
import { type Brief, briefRows } from './brief-rows.js';
import { expanded, readSamples, sampledParsers, type Texts, textOf } from './sample-files.js';

/** More is not read in pieces and from every prefix. */
const SHORT = 20_000;
const PREFIX_STEP = 41;
const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** `5 MiB` in bytes. */
const inBytes = (row: string): string =>
  row.replace(/ ([\d.]+) (KiB|MiB|GiB)\b/, (_, figure: string, unit: string) => {
    return ` ${Math.round(Number(figure) * UNITS[unit]!)}`;
  });

/** An incident with the words at its place. */
const withStart =
  (text: string) =>
  (incident: IncidentRow): object => {
    const before = Buffer.from(text).subarray(0, incident.offset).toString();
    expect(incident.line).toBe(before.split('\n').length);
    return { ...incident, start: text.slice(before.length).trimStart() };
  };

/** Microseconds of a time that is written as text. */
function microseconds(time: string | number | null): number | null {
  if (typeof time !== 'string') return time;
  const [, seconds, digits = '', zone] = /^([^.+Z]+)(?:\.(\d+))?(.*)$/.exec(time)!;
  return Date.parse(`${seconds}${zone || 'Z'}`) * 1000 + Number(digits.padEnd(6, '0').slice(0, 6));
}

/** A time as text is in microseconds, and an offset as text is the place of these words (`last …`: their last one). */
function facts(expected: unknown, text: string, texts: Texts): unknown {
  if (typeof expected !== 'object' || expected === null) return expected;
  if (Array.isArray(expected)) return expected.map((item) => facts(item, text, texts));
  return Object.fromEntries(
    Object.entries(expected).map(([key, value]) => {
      if (typeof value !== 'string') return [key, facts(value, text, texts)];
      if (key === 'timeUs') return [key, microseconds(value)];
      if (key === 'offset') {
        const isLast = value.startsWith('last ');
        const at = isLast ? text.lastIndexOf(value.slice(5)) : text.indexOf(value);
        return [key, Buffer.byteLength(text.slice(0, at))];
      }
      if (key.endsWith('^')) return [key.slice(0, -1), expect.toSatisfy((text: string) => text.startsWith(value))];
      if (key.endsWith('~')) return [key.slice(0, -1), expect.stringContaining(value)];
      return [key, expanded(value, texts)];
    }),
  );
}

describe.each(sampledParsers())('%s', (id) => {
  const { texts, samples, claims, foreign } = readSamples(id);
  const parser = PARSERS.find((candidate) => candidate.id === id)!;

  it.skipIf(claims.length === 0).for(claims)('%s', ([, text, name, owner]) => {
    expect(claimed(expanded(text, texts), name)).toBe(owner);
  });

  it.skipIf(foreign.length === 0).for(foreign)('is not %s', ([text, name]) => {
    const bytes = Buffer.from(text);
    expect(parser.sniff({ bytes, name, sizeBytes: bytes.length }).score).toBe(0);
  });

  it.each(samples.map((sample) => [sample.is, sample] as const))('%s', async (_, sample) => {
    const { name = 'x', claimed: owner, refused, ends, rows = {}, count = {}, at = {}, times = {} } = sample;
    const text = textOf(sample, texts);
    const read = (content: string, chunkBytes?: number) => collectRows(parser, content, name, chunkBytes);
    const all = await read(text);
    const shown = (row: string): string => inBytes(expanded(row, texts));
    const known = (expected: object) => facts(expected, text, texts) as object;
    if (owner !== undefined) expect(claimed(text, name)).toBe(owner);
    if (ends === undefined) expect(all.refused).toBe(refused ?? null);
    else expect(all.refused ?? ends).toBe(ends);
    for (const [kind, expected] of Object.entries(rows)) {
      const isSome = kind.startsWith('+');
      const got = briefRows(all.rows, kind.replace('+', '') as Brief);
      if (isSome) expect(got).toEqual(expect.arrayContaining(expected.map(shown)));
      else expect(got).toEqual(expected.map(shown));
    }
    const ofKind = (kind: string) => all.rows.filter(({ finding }) => finding.row === kind);
    for (const [kind, expected] of Object.entries(count)) expect(ofKind(kind), kind).toHaveLength(expected);
    for (const [kind, places] of Object.entries(at))
      for (const [place, expected] of Object.entries(places)) {
        const row = ofKind(kind).at(Number(place));
        expect({ ...row?.finding, place: row?.place }, `${kind} ${place}`).toMatchObject(known(expected));
      }
    for (const [kind, expected] of Object.entries(times))
      expect(ofKind(kind).map(({ place }) => place.timeUs)).toEqual(expected.map(microseconds));
    const { incidents, attempts, notes, noted, summary, hides } = sample;
    if (incidents !== undefined) expect(all.incidents.map(withStart(text))).toMatchObject(known(incidents));
    if (attempts !== undefined) expect(all.attempts).toHaveLength(attempts);
    if (notes !== undefined) expect(all.notes.map(({ kind }) => kind).sort()).toEqual(notes);
    if (noted !== undefined) expect(all.notes).toMatchObject(known(noted));
    if (summary !== undefined) expect(all.summary).toMatchObject(known(summary));
    if (hides !== undefined) expect(JSON.stringify(all)).not.toContain(hides);
    for (const { text: words } of all.incidents) expect(words.length).toBeLessThan(2100);
    if (text.length > SHORT || all.refused !== null) return;
    for (const chunkBytes of [1, 7, 97]) expect(await read(text, chunkBytes)).toEqual(all);
    // Read or refused; any other error fails.
    for (let length = 1; length < text.length; length += PREFIX_STEP) await read(text.slice(0, length));
    const complete = new Set(all.rows.map(({ finding }) => JSON.stringify(finding)));
    for (let length = 0; sample.cuts && length < text.length; length += 1) {
      const cut = await read(text.slice(0, length));
      const differing = cut.rows.filter(({ finding }) => !complete.has(JSON.stringify(finding)));
      expect(new Set(differing.map(({ place }) => place.line)).size).toBeLessThanOrEqual(1);
    }
    if (sample.lineEnds !== true) return;
    const contents = ({ rows: read }: Collected) => read.map(({ finding }) => finding);
    for (const variant of [`\ufeff${text.replaceAll('\n', '\r\n')}`, text.replaceAll('\n', '\r')])
      expect(contents(await read(variant))).toEqual(contents(all));
  });
});
