import { describe, expect, it } from 'vitest';
import { applyBlock, applyLine } from '../../parsers/log/formats/apply.js';
import { SETTINGS_FORMATS } from '../../parsers/log/formats/settings.js';
import type { LogFinding } from '../../src/model/log-rows.js';

describe('samples', () => {
  for (const format of SETTINGS_FORMATS) {
    it(format.id, () => {
      for (const sample of format.samples) {
        const rows: LogFinding[] = [];
        if (format.form === 'line' && 'text' in sample) applyLine(format, sample.text, (row) => rows.push(row));
        if (format.form === 'block' && 'lines' in sample) applyBlock(format, sample.lines, (row) => rows.push(row));
        expect(rows).toEqual(sample.rows);
      }
    });
  }
});
