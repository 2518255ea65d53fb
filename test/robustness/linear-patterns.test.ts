import { expect, it } from 'vitest';
import { literalPatterns, superLinear } from './patterns.js';

/** Patterns whose text is short whatever the files hold. */
const SHORT_TEXTS: Readonly<Record<string, string>> = {
  'src/model/units.ts': 'a number',
  'src/report/text-pieces.ts': 'a number',
  'src/report/moment/timeline-text.ts': 'a size of our own words',
  'src/report/start/lint-text.ts': 'a source of our own rules',
  'src/store/generate-query-types.ts': 'a type of our own queries',
  'src/store/query-file.ts': 'our own queries',
  'src/store/read-only-sql.ts': 'the statement of the user',
};

it('no pattern takes more than linear time by its form', () => {
  const excused = new Set<string>();
  const slow = literalPatterns(process.cwd()).flatMap((pattern) => {
    const reasons = superLinear(pattern);
    const file = pattern.at.replace(/:\d+$/, '');
    if (reasons.length > 0 && file in SHORT_TEXTS) excused.add(file);
    return file in SHORT_TEXTS ? [] : reasons.map((reason) => `${pattern.at} /${pattern.source}/: ${reason}`);
  });
  expect(slow).toEqual([]);
  expect([...excused].sort(), 'exceptions that are still needed').toEqual(Object.keys(SHORT_TEXTS).sort());
});

it('sees a search from every position and two repetitions of one text', () => {
  const pattern = (expression: RegExp) => ({ source: expression.source, flags: expression.flags, at: '' });
  expect(superLinear(pattern(/(?:^|\n)\s*\{/))).toEqual(['\\s* is tried from every position']);
  expect(superLinear(pattern(/^a: +(.*)$/))).toEqual([' + and .* take the same text']);
  expect(superLinear(pattern(/^(?:a+)+$/))).not.toEqual([]);
  expect(superLinear(pattern(/(?:^|\n)\s{0,64}\{/))).toEqual([]);
});
