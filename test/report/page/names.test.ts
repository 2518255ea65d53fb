import { describe, expect, it } from 'vitest';
import { shellWord, visibleText } from '../../../src/model/escape-controls.js';
import { entriesCommand, momentName, stepOf } from '../../../src/report/page/names.js';
import { syntheticDevice } from './synthetic-device.js';

const { page, columns } = syntheticDevice({
  ...{ seed: 2, layers: 4, steps: 3, limitBytes: 9 * 1024 ** 3, expandable: false },
});

describe('names', () => {
  it('quotes handles for a shell', () => {
    expect(entriesCommand(page, 5, 9)).toBe(
      'mbforensics timeline night-shift/3/snapshot#1 --device 0 --from seq:5 --to seq:9',
    );
    expect(shellWord("it's; rm -rf $HOME")).toBe(`'it'\\''s; rm -rf $HOME'`);
    expect(shellWord('a\u202eb')).toBe(`$'a\\u202eb'`);
  });

  it('shows characters that would not be seen', () => {
    expect(visibleText('a\u0000b\u202ec\u2066d')).toBe('a\\u{0}b\\u{202e}c\\u{2066}d');
  });

  it('names the step and the moment of a state', () => {
    const step = page.steps[1]!;
    expect(stepOf(page, step.first)).toBe(step.name);
    expect(stepOf(page, step.last)).toBe(step.name);
    expect(stepOf(page, page.steps[0]!.first - 1)).toBeNull();
    const bytes = { active: 0, pending: 0, reserved: 0, privateReserved: 0, privateActive: 0 };
    const state = { ...bytes, components: columns.levels[0]!.active };
    expect(momentName(page, { ...state, from: 7, to: 7, at: 7 })).toBe('after entry 7');
    expect(momentName(page, { ...state, from: 0, to: 9, at: -1 })).toBe(
      'highest state of entries 0 to 9, before the first entry',
    );
  });
});
