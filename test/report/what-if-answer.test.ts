/** The sentence above `whatif`, by outcome of its rows; and the devices that it may name. */
import { describe, expect, it } from 'vitest';
import { deviceOf, TARGET_DEVICES, targetDeviceOf, USUAL_TARGETS } from '../../src/derive/settings/devices.js';
import type { WhatIfResult, WhatIfRow } from '../../src/model/results/replay.js';
import { GIB } from '../../src/model/units.js';
import { documentText } from '../../src/report/render/text.js';
import { answerText } from '../../src/report/what-if/what-if-answer.js';
import { whatIfDocument } from '../../src/report/what-if/what-if-document.js';
import { goldenDocument } from '../screens/golden-file.js';

const whatIfText = (of: WhatIfResult): string => documentText(whatIfDocument(of));

const CAPACITY = 75 * GIB;

const row = (changes: Partial<WhatIfRow>): WhatIfRow => ({
  ...{ setting: 'recorded', target: null, capacity_bytes: CAPACITY, outcome: 'same_oom', bound: 'exact' },
  ...{ peak_reserved_bytes: 74 * GIB, peak_reserved_least_bytes: 74 * GIB, peak_reserved_most_bytes: 74 * GIB },
  ...{ peak_active_bytes: 70 * GIB, headroom_bytes: GIB, unused_at_peak_bytes: GIB, driver_calls: 10, retries: 0 },
  ...{ short_bytes: null, oom_seq: null, robust: true, note: null },
  ...changes,
});

const H100 = targetDeviceOf('h100')!;

const result = (rows: readonly WhatIfRow[], changes: Partial<WhatIfResult> = {}): WhatIfResult => ({
  ...goldenDocument<WhatIfResult>('whatif'),
  recorded: {
    ...{ capacity_bytes: CAPACITY, capacity_source: 'x', device_total_bytes: null, outside_bytes: null },
    ...{ taken_by_others_bytes: 0, ooms: 1, peak_reserved_bytes: 74 * GIB, peak_active_bytes: 70 * GIB },
    ...{ setting: '', oom: { seq: 1, requested_bytes: GIB, site: null } },
  },
  ...{ repeats_oom: true, settings: [row({}), ...rows], least_capacity: [], optimum_bytes: 71 * GIB },
  targets: rows.some(({ target }) => target === 'h100') ? [H100] : [],
  ...{ edit: null, free_early: null, whole_step: null },
  ...changes,
});

const EXPANDABLE = { setting: 'expandable_segments:True' };
const BOUNDS = [
  row({ ...EXPANDABLE, outcome: 'fits', bound: 'optimistic', peak_reserved_least_bytes: 72 * GIB }),
  row({ ...EXPANDABLE, outcome: 'fits', bound: 'pessimistic', headroom_bytes: GIB / 2 }),
];

describe('the answer of whatif', () => {
  it('names a setting that serves the request under both bounds, and shows them in one row', () => {
    expect(answerText(result(BOUNDS))).toBe('expandable_segments:True avoids this OOM on this device.');
    const lines = whatIfText(result(BOUNDS))
      .split('\n')
      .filter((line) => /^expandable.*GiB/.test(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/≤74\.00 GiB +≥512\.00 MiB +≤1\.00 GiB +≤10 +both$/);
  });

  it('is not certain where the bounds differ or the row is not robust, and keeps two rows', () => {
    const split = [BOUNDS[0]!, row({ ...EXPANDABLE, bound: 'pessimistic', short_bytes: GIB })];
    for (const rows of [split, [row({ ...EXPANDABLE, outcome: 'fits', robust: false })]])
      expect(answerText(result(rows))).toMatch(/^expandable_segments:True may avoid this OOM/);
    const lines = whatIfText(result(split)).split('\n');
    expect(lines.filter((line) => /optimistic$|pessimistic$/.test(line))).toHaveLength(2);
  });

  it('does not take the OOM for the end of the step', () => {
    const longStep = { peak_bytes: 80 * GIB, outcome: 'short' } as unknown as WhatIfResult['whole_step'];
    expect(answerText(result(BOUNDS, { whole_step: longStep }))).toMatch(
      /, but the rest of the step peaks at 80\.00 GiB/,
    );
    const onDevice = [row({ target: 'h100', capacity_bytes: 79 * GIB, outcome: 'fits' })];
    expect(answerText(result(onDevice, { whole_step: longStep }))).toContain('H100 not to the end of the step');
  });

  it('excludes every setting only where live + requested exceed the capacity', () => {
    const rows = [row(EXPANDABLE), row({ setting: 'max_split_size_mb:128' })];
    expect(answerText(result(rows))).toBe('None of the 2 allocator settings tried avoids this OOM on this device.');
    expect(answerText(result(rows, { optimum_bytes: 76 * GIB }))).toMatch(
      /^No allocator setting avoids this OOM: 76\.00/,
    );
  });

  it('answers for named devices, and certain only as far as the replay is', () => {
    const least = [{ setting: 'recorded', capacity_bytes: 76 * GIB, bound: 'exact' as const }];
    const onDevice = row({ target: 'h100', capacity_bytes: 79 * GIB, outcome: 'fits' });
    expect(answerText(result([onDevice], { least_capacity: least }))).toBe('This trace needs 76.00 GiB: H100 yes.');
    expect(answerText(result([{ ...onDevice, robust: false }], { least_capacity: least }))).toContain(
      'H100 not certain',
    );
    const elsewhere = answerText(result([...BOUNDS.map((one) => ({ ...one, robust: false }))], { repeats_oom: false }));
    expect(elsewhere).toMatch(/^No answer about settings is certain/);
    expect(answerText(result([{ ...onDevice, ...EXPANDABLE }], { least_capacity: least }))).toBe(
      'This OOM is avoided with expandable_segments:True: H100 yes.',
    );
    const recorded = { ...result([]).recorded, oom: null };
    expect(answerText(result([onDevice], { recorded }))).toMatch(
      /no OOM; its peak is 74\.00 GiB .* It fits on H100\.$/,
    );
    const failing: WhatIfRow = { ...onDevice, outcome: 'earlier_oom' };
    expect(answerText(result([failing], { recorded }))).toMatch(/Every request is served: H100 no\.$/);
    expect(answerText(result([]))).toBe('');
  });
});

describe('named devices', () => {
  it('have less than their name states, more than nine tenths of it, and a source', () => {
    for (const { label, name, total_bytes, source } of TARGET_DEVICES) {
      const sold = deviceOf(label)?.total_bytes ?? total_bytes;
      const isSold = /-\d+$/.test(name) ? (Number(name.split('-').at(-1)) || 0) * GIB : sold;
      if (name.startsWith('rtx') || name.startsWith('mi')) expect(total_bytes).toBeLessThanOrEqual(sold);
      else {
        expect({ name, low: total_bytes > 0.9 * isSold }).toEqual({ name, low: true });
        expect({ name, high: total_bytes < isSold }).toEqual({ name, high: true });
      }
      expect(source).toMatch(/\d/);
    }
  });

  it('are found in the usual spellings, and not by what is ambiguous', () => {
    expect(targetDeviceOf('H100')).toBe(H100);
    expect(targetDeviceOf('A100 80GB')).toBe(targetDeviceOf('a100-80'));
    expect(targetDeviceOf('rtx_pro_6000')?.label).toBe('RTX-PRO-6000');
    for (const name of ['a100', '', 'h1000', '80']) expect(targetDeviceOf(name)).toBeUndefined();
    const sizes = USUAL_TARGETS.map(({ total_bytes }) => total_bytes);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
  });
});
