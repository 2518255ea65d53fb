/**
 * No regular expression of the program takes more than linear time, by its form. V8 backtracks: a pattern whose time
 * grows with the square of its text is a hang in a file of 64 KiB.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';
import { expect, it } from 'vitest';
import { repoRoot, sharedBuild } from '../store/scratch.js';

interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly at: string;
}

/** Files whose patterns meet short texts only, whatever the files of a run hold. */
const SHORT_TEXTS: Readonly<Record<string, string>> = {
  'src/model/units.ts': 'a number',
  'src/report/document/values.ts': 'a number',
  'src/report/axis-labels.ts': 'a number',
  'src/report/knowledge/page-text.ts': 'our own pages',
  'src/report/moment/timeline-document.ts': 'a size of our own words',
  'src/report/start/lint-document.ts': 'a source of our own rules',
  'src/store/generate-query-types.ts': 'a type of our own queries',
  'src/store/query-file.ts': 'our own queries',
  'src/store/read-only-sql.ts': 'the statement of the user',
};

/** Every literal of the sources. The page's program reads what the page holds. */
function literalPatterns(): Pattern[] {
  const patterns: Pattern[] = [];
  for (const folder of ['parsers', 'src']) {
    for (const name of readdirSync(join(repoRoot, folder), { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, name);
      if (!file.endsWith('.ts') || file.endsWith('.d.ts') || file.startsWith('src/report/page/')) continue;
      const text = readFileSync(join(repoRoot, file), 'utf8');
      JSON.stringify(parseAst(text, { lang: 'ts' }), (key, value: unknown) => {
        if (key !== 'regex') return typeof value === 'bigint' ? null : value;
        const { pattern: source, flags } = value as { readonly pattern: string; readonly flags: string };
        patterns.push({ source, flags, at: file });
        return null;
      });
    }
  }
  return patterns;
}

/** What makes a pattern slower than linear; bounded repetitions do not count. */
function superLinear({ source, flags }: Pattern): string[] {
  const { reports } = analyse({ source, flags }, { reportTypes: { Move: true } });
  return reports.map((report) =>
    report.type === 'Trade'
      ? `${report.startQuant.raw} and ${report.endQuant.raw} take the same text`
      : `${report.quant.raw} ${report.type === 'Move' ? 'is tried from every position' : 'repeats itself'}`,
  );
}

it('no pattern of the sources takes more than linear time', () => {
  const literals = literalPatterns();
  expect(literals.length).toBeGreaterThan(1000);
  const slow = literals.flatMap((pattern) =>
    superLinear(pattern).map((why) => [pattern.at, `/${pattern.source}/: ${why}`]),
  );
  expect(slow.filter(([file]) => !(file! in SHORT_TEXTS))).toEqual([]);
  const excused = new Set(slow.map(([file]) => file).filter((file) => file! in SHORT_TEXTS));
  expect([...excused].sort(), 'exceptions that are still needed').toEqual(Object.keys(SHORT_TEXTS).sort());
});

it('no pattern of data files, and none put together while the program loads, does either', () => {
  const script = join(import.meta.dirname, 'built-patterns.mjs');
  const built = execFileSync(process.execPath, [script, sharedBuild()], { maxBuffer: 2 ** 26, encoding: 'utf8' });
  const patterns = JSON.parse(built) as Pattern[];
  expect(patterns.length).toBeGreaterThan(300);
  expect(patterns.flatMap((pattern) => superLinear(pattern).map((why) => `/${pattern.source}/: ${why}`))).toEqual([]);
});

it.each([
  [/(?:^|\n)\s*\{/, ['\\s* is tried from every position']],
  [/^a: +(.*)$/, [' + and .* take the same text']],
  [/^(?:a+)+$/, expect.arrayContaining([expect.any(String)])],
  [/(?:^|\n)\s{0,64}\{/, []],
])('%s: %j', ({ source, flags }, reasons) => {
  expect(superLinear({ source, flags, at: '' })).toEqual(reasons);
});
