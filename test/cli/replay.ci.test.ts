/**
 * `replay` and `whatif` as outside scripts see them: the fixed fields, the samples' answers, usage errors, and text
 * that fits a terminal.
 */
import { describe, expect, it } from 'vitest';
import type { ReplayResult, WhatIfResult } from '../../src/model/results/replay.js';
import { asker, expectFits } from '../support/ask.js';
import { BASE, smallSnapshot } from '../support/small-snapshot.js';
import { samplePath } from '../support/stores.js';

const FRAGMENTED = samplePath('llama3-70b-fragmentation');
const FULL = samplePath('capacity');

/** Fields, each with its types, or with its possible words after `=`. */
const REPLAY =
  'path string, device number, regime =cold =late =wrapped, variant =address =block_counter =segment_counter, ' +
  'address_matches number, address_total number, segment_event_mismatches number, reserved_at_end_bytes number, ' +
  'final_state_equal boolean, status =exact =approximate =refused, reason string';
const RECORDED = 'capacity_bytes number null, ooms number, peak_reserved_bytes number';
const SETTING =
  'setting string, capacity_bytes number null, outcome =fits =same_oom =earlier_oom =later_oom, ' +
  'peak_reserved_bytes number, peak_reserved_least_bytes number, peak_reserved_most_bytes number, ' +
  'peak_active_bytes number, headroom_bytes number null, driver_calls number, ' +
  'bound =exact =interval =optimistic =pessimistic';

function expectShape(value: object, shape: string): void {
  for (const [field, ...types] of shape.split(', ').map((words) => words.split(' '))) {
    const actual = (value as Readonly<Record<string, unknown>>)[field!];
    const type = actual === null ? 'null' : typeof actual;
    const isKnown = types.includes(type) || types.includes(`=${String(actual)}`);
    expect({ field, actual, isKnown }).toEqual({ field, actual, isKnown: true });
    if (typeof actual === 'number') expect(Number.isSafeInteger(actual)).toBe(true);
  }
}

const ROUNDED = 'roundup_power2_divisions:[16:1,64:4,128:2,256:1,512:8,>:8]';

describe('replay and whatif', () => {
  const { text, json, refuse, put } = asker();
  const whatIf = (...args: string[]) => json<WhatIfResult>('whatif', ...args);

  it('replay --json has its fixed fields, and the samples are exact', () => {
    for (const sample of [FRAGMENTED, FULL]) {
      const { schema, snapshots } = json<ReplayResult>('whatif', 'replay', sample);
      expect(schema).toBe('mbforensics/replay@1');
      expect(snapshots.length).toBeGreaterThan(0);
      for (const snapshot of snapshots) {
        expectShape(snapshot, REPLAY);
        expect(snapshot.status).toBe('exact');
        expect(snapshot.address_matches).toBe(snapshot.address_total);
      }
    }
  });

  it('whatif --json has its fixed fields; a fragmented run fits with expandable segments', () => {
    const { schema, recorded, settings } = whatIf(FRAGMENTED);
    expect(schema).toBe('mbforensics/whatif@1');
    expectShape(recorded, RECORDED);
    for (const setting of settings) {
      expectShape(setting, SETTING);
      if (setting.capacity_bytes === null) continue;
      expect(setting.headroom_bytes).toBe(setting.capacity_bytes - setting.peak_reserved_most_bytes);
    }
    expect(settings[0]).toMatchObject({ setting: 'recorded', outcome: 'same_oom', bound: 'exact' });
    const expandable = settings.filter(({ setting }) => setting === 'expandable_segments:True');
    expect(expandable.map(({ bound }) => bound)).toEqual(['optimistic', 'pessimistic']);
    for (const row of expandable) expect(row).toMatchObject({ outcome: 'fits', robust: true });
  });

  it('no setting helps where live memory and request exceed the device', () => {
    const { recorded, settings } = whatIf(FULL);
    const here = settings.filter(({ capacity_bytes }) => capacity_bytes === recorded.capacity_bytes);
    expect(here.length).toBeGreaterThan(4);
    for (const { setting, outcome } of here)
      expect({ setting, fits: outcome === 'fits' }).toEqual({ setting, fits: false });
    expect(settings.some(({ outcome }) => outcome === 'fits')).toBe(true);
  });

  it('refuses a trace that no allocator wrote, with the number of its allocations, and makes up no answer', () => {
    const entries = Array.from({ length: 60 }, (_, i) => ({
      action: 'alloc',
      addr: BASE + 2 ** 40 + i * 4096,
      size: 4096,
    }));
    const file = put('nowhere.pickle', smallSnapshot({ entries }));
    const [device] = json<ReplayResult>('whatif', 'replay', file).snapshots;
    expect(device).toMatchObject({ status: 'refused', address_total: 60, address_matches: 0 });
    const stderr = refuse(4, 'whatif', file);
    expect(stderr).toContain('MBF2501');
    expect(stderr).toContain('0 of 60 allocations');
  });

  it('answers one question: a setting, a device, edits, earlier frees', () => {
    const set = whatIf(FRAGMENTED, '--set', 'expandable_segments:True', '--set', 'garbage_collection_threshold:0.8');
    expect(set.settings.map(({ setting }) => setting)).toEqual([
      'recorded',
      ...new Array<string>(2).fill('expandable_segments:True,garbage_collection_threshold:0.8'),
    ]);
    const named = whatIf(FRAGMENTED, '--device', 'h100, H200', '--device', 'b200');
    expect(named.settings.map(({ target, outcome }) => [target, outcome])).toEqual([
      [null, 'same_oom'],
      ['h100', 'same_oom'],
      ['h200', 'fits'],
      ['b200', 'fits'],
    ]);
    for (const { name, total_bytes } of named.targets) {
      const row = named.settings.find(({ target }) => target === name)!;
      expect(row.capacity_bytes).toBe(total_bytes - named.recorded.outside_bytes!);
    }
    const both = whatIf(FRAGMENTED, '--device', '0,h200', '--set', 'max_split_size_mb:128').settings;
    expect(new Set(both.slice(1).map(({ target, setting }) => `${setting} ${target}`))).toEqual(
      new Set(['max_split_size_mb:128 h200']),
    );
    const larger = whatIf(FRAGMENTED, '--capacity', '141GiB').settings;
    expect(larger.map(({ outcome }) => outcome)).toEqual(['same_oom', 'fits']);
    const edited = whatIf(FULL, '--scale', 'gemm.py=0').edit!;
    expect(edited.after.active_bytes).toBeLessThan(edited.before.active_bytes);
    expect(whatIf(FULL, '--remove', 'gemm.py').edit!.after).toEqual(edited.after);
    const early = whatIf(FRAGMENTED, '--free-early').free_early!;
    expect(early.length).toBeGreaterThan(0);
    for (const free of early) expect(free.verified).toBe(true);
  });

  it.each([
    [['--set', 'foo:1'], /foo is not a known option/],
    [['--set', 'expandable_segments:true'], /neither True nor False/],
    [['--set', 'max_split_size_mb:10'], /at least 20/],
    [['--scale', 'gemm'], /is not SITE=FACTOR/],
    [['--scale', 'gemm=-1'], /is not SITE=FACTOR/],
    [['--scale', '=0.5'], /is not SITE=FACTOR/],
    [['--remove', 'no such site'], /is part of no call site/],
    [['--capacity', '0'], /expected a size above 0/],
    [['--capacity', '1GiB'], /leaves nothing/],
    [['--device', 'h100,tpu'], /invalid --device "tpu"; expected a device number .*h100, .*--capacity/],
    [['--device', 'a100'], /a100-40, a100-80/],
    [['--device', '0,1'], /one device at a time/],
    [['--device', ''], /invalid --device ""/],
  ])('whatif %j is a usage error', (args, message) => {
    const stderr = refuse(2, 'whatif', FULL, ...args);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('answers in its first line', () => {
    const first = (...args: string[]): string =>
      text('whatif', ...args)
        .split('\n\n')[0]!
        .replaceAll(/\n\s*/g, ' ');
    expect(first(FRAGMENTED)).toMatch(/^expandable_segments:True .*avoid.* this OOM .*H100 no, H200 yes/);
    expect(first(FULL)).toMatch(/^No allocator setting avoids this OOM: .* need .*H100 no, H200 yes/);
    expect(first(FULL, '--device', 'h200,h100')).toMatch(/^This trace needs .*: H200 yes, H100 no\.$/);
    expect(first(FRAGMENTED, '--set', 'expandable_segments:True')).toBe(
      'expandable_segments:True avoids this OOM on this device.',
    );
    expect(first(FRAGMENTED, '--set', 'garbage_collection_threshold:0.8')).toBe(
      'garbage_collection_threshold:0.8 does not avoid this OOM on this device.',
    );
  });

  it('writes no line of more than 100 columns', () => {
    const questions = [
      ['whatif', 'replay', FRAGMENTED],
      ['whatif', FRAGMENTED],
      ['whatif', FULL],
      ['whatif', FRAGMENTED, '--free-early', '--scale', 'gemm.py=0.5'],
      ['whatif', FRAGMENTED, '--set', `${ROUNDED},expandable_segments:True`],
    ];
    for (const args of questions) expectFits(text(...args));
  });
});
