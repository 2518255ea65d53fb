/**
 * `at`, `segments` and `allocations` as a user has them: sums, labels, limits, errors, and what is kept between
 * questions.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AllocationsResult } from '../../src/model/results/allocation.js';
import type { AtResult, ReserveShare, SegmentsResult } from '../../src/model/results/at.js';
import type { PeakResult } from '../../src/model/results/common.js';
import { startChild } from '../store/scratch.js';
import { asker } from '../support/ask.js';
import { SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { copyStore, samplePath, storeOf } from '../support/stores.js';

const OOM = join(samplePath('llama3-70b-fragmentation'), 'snapshot_oom_rank-0.pickle.gz');

const { cli, cwd, text, json, refuse } = asker();

const at = (moment: string, path: string, ...more: string[]) => json<AtResult>('state', '--at', moment, path, ...more);

function expectSums(result: AtResult): void {
  expect(result.reserved_bytes).toBe(result.active_bytes + result.inactive_bytes);
  expect(result.active_bytes).toBe(result.allocated_bytes + result.pending_bytes);
  for (const shares of [result.pools, result.streams] as readonly (readonly ReserveShare[])[]) {
    const sum = (pick: (share: ReserveShare) => number): number => shares.reduce((all, share) => all + pick(share), 0);
    expect(sum((share) => share.reserved_bytes)).toBe(result.reserved_bytes);
    expect(sum((share) => share.active_bytes)).toBe(result.active_bytes);
    expect(sum((share) => share.pending_bytes)).toBe(result.pending_bytes);
    expect(sum((share) => share.inactive_bytes)).toBe(result.inactive_bytes);
    expect(sum((share) => share.segments)).toBe(result.segments);
    expect(Math.max(0, ...shares.map((share) => share.largest_hole_bytes))).toBe(result.largest_hole_bytes);
  }
  const sites = result.sites.reduce((all, site) => all + site.bytes, 0) + result.other_sites.bytes;
  expect(sites).toBe(result.active_bytes);
  const blocks = result.sites.reduce((all, site) => all + site.count, 0) + result.other_sites.count;
  expect(blocks).toBe(result.blocks);
}

describe('at', () => {
  it.each(['start', 'peak', 'oom', 'end', 'seq:0', 'seq:12345', 'step:4'])('%s adds up', (moment) => {
    const result = at(moment, OOM);
    expect(result).toMatchObject({ schema: 'mbforensics/at@1', device: 0, moment, start: 'late', basis: 'actual' });
    expectSums(result);
    expectSums(at(moment, OOM, '--limit', '0'));
  });

  it('shows all holes and pinned segments with --limit 0, and they are what is free', () => {
    const result = at('oom', OOM, '--limit', '0');
    expect(result.largest_holes).toHaveLength(result.holes);
    const free = result.largest_holes.reduce((sum, hole) => sum + hole.bytes, 0);
    expect(free).toBe(result.inactive_bytes);
    // At an OOM all that could be flushed has been.
    expect(result.releasable_bytes).toBe(0);
    const pinned = result.pinned_segments.reduce((sum, segment) => sum + segment.inactive_bytes, 0);
    expect(pinned).toBe(result.inactive_bytes);
    expect(result.fragmentation.inactive_of_reserved).toBeCloseTo(result.inactive_bytes / result.reserved_bytes, 12);
  });

  it('explains the form of a moment, and lists those that exist', () => {
    expect(refuse(2, 'state', '--at', 'noon', OOM)).toMatch(
      /MBF1001.*invalid moment "noon"; expected one of start, peak/,
    );
    expect(refuse(2, 'state', '--at', 'seq:24000', OOM)).toMatch(/MBF1002.*its last entry is 23999/);
    expect(refuse(2, 'state', '--at', 'step:99', OOM)).toMatch(/MBF1002.*its steps are 4 to 4/);
    expect(refuse(2, 'state', '--at', 'peak', OOM, '--device', '3')).toMatch(/MBF1002.*no device 3/);
    expect(refuse(2, 'state', '--at', 'oom', samplePath('llama3-70b-expandable'))).toMatch(/MBF1002.*OOM/);
  });

  it('peak equals the answer of peak', () => {
    const peak = json<PeakResult>('peak', OOM, '--limit', '0').snapshots[0]!.devices[0]!;
    const result = at('peak', OOM, '--limit', '0');
    expect([result.seq, result.active_bytes, result.reserved_bytes]).toEqual([
      peak.seq,
      peak.active_bytes,
      peak.reserved_bytes,
    ]);
    expect(result.sites).toEqual(peak.sites);
  });
});

describe('segments', () => {
  it('draws every byte of every segment', () => {
    const result = json<SegmentsResult>('state', '--map', '--at', 'oom', OOM, '--limit', '0');
    let active = 0;
    let reserved = 0;
    for (const group of result.groups) {
      for (const drawing of group.drawings) {
        let drawn = 0;
        drawing.cells.forEach(([allocated, pending], cell) => {
          const width = Math.min(group.cell_bytes, drawing.total_bytes - cell * group.cell_bytes);
          drawn += (allocated + pending) * width;
        });
        expect(Math.round(drawn)).toBe(drawing.active_bytes);
        reserved += drawing.total_bytes;
        active += drawing.active_bytes;
      }
      expect(group.other_segments.segments).toBe(0);
    }
    expect([active, reserved]).toEqual([result.active_bytes, result.reserved_bytes]);
  });

  const barsOf = (...args: string[]): string[] =>
    text('state', '--map', '--at', 'oom', OOM, ...args)
      .split('\n')
      .filter((line) => /%/.test(line));

  it('keeps to the width, and to ASCII where asked', () => {
    for (const width of ['80', '140']) {
      const bars = barsOf('--width', width);
      expect(bars.length).toBeGreaterThan(10);
      for (const line of bars) expect(line.length).toBeLessThanOrEqual(Number(width));
    }
    expect(barsOf('--ascii').join('')).toMatch(/^[ -~]*$/);
  });
});

describe('allocations', () => {
  const ask = (...args: string[]) => json<AllocationsResult>('allocations', OOM, ...args);

  it('live at a moment are its live set', () => {
    for (const moment of ['start', 'peak', 'oom', 'seq:500']) {
      const state = at(moment, OOM);
      const result = ask('--at', moment, '--limit', '0');
      expect(result.count).toBe(state.blocks);
      expect(result.allocations).toHaveLength(state.blocks);
      expect(result.actual_bytes).toBe(state.active_bytes);
      expect(result.allocations.reduce((sum, row) => sum + row.actual_bytes!, 0)).toBe(state.active_bytes);
    }
  });

  it('are found by label, and the label is the same everywhere', () => {
    const [pin] = at('oom', OOM, '--limit', '0')
      .pinned_segments.flatMap((segment) => segment.pinned_by)
      .filter((one) => one.label?.endsWith('_1'));
    const result = ask('--block', pin!.label!);
    expect(result.count).toBe(1);
    expect(result.allocations[0]).toMatchObject({ label: pin!.label, site: pin!.site, actual_bytes: pin!.bytes });
    const address = pin!.label!.slice(1, -2);
    const lives = ask('--block', `0x${address}`, '--sort', 'entry').allocations;
    expect(lives.map((row) => row.label)).toEqual(lives.map((_, i) => `b${address}_${i}`));
    for (const [i, row] of lives.entries())
      if (i > 0) expect(row.alloc_seq).toBeGreaterThan(lives[i - 1]!.free_completed_seq!);
  });

  it('are filtered, sorted and cut; the totals count all of them', () => {
    const all = ask('--site', 'fused_bias_swiglu', '--limit', '0', '--sort', 'bytes');
    const few = ask('--site', 'fused_bias_swiglu', '--limit', '3', '--sort', 'bytes');
    expect(few.allocations).toEqual(all.allocations.slice(0, 3));
    expect([few.count, few.actual_bytes]).toEqual([all.count, all.actual_bytes]);
    expect(all.allocations).toHaveLength(all.count);
    for (const row of all.allocations) expect(row.frames.join('\n')).toContain('fused_bias_swiglu');
    const large = ask('--min', '1GiB', '--limit', '0');
    expect(large.count).toBeGreaterThan(0);
    for (const row of large.allocations) expect(row.actual_bytes).toBeGreaterThanOrEqual(2 ** 30);
    const csv = text('allocations', OOM, '--csv', '--min', '1GiB', '--limit', '0').trimEnd();
    expect(csv.split('\n')).toHaveLength(large.count + 1);
  });

  it.each([
    ['--block', 'nonsense'],
    ['--min', 'much'],
    ['--sort', 'colour'],
    ['--limit', '-1'],
    ['--at', 'never'],
  ])('refuse %s %s', (option, value) => {
    expect(refuse(2, 'allocations', OOM, option, value)).toContain('MBF1001');
  });
});

describe('what a question finds out', () => {
  const ingested = (name: string): string => copyStore(join(cwd, `${name}.duckdb`), OOM);
  const rows = (statement: string, db: string): readonly (readonly unknown[])[] =>
    json<{ rows: unknown[][] }>('sql', statement, '--db', db).rows;
  const histories = (db: string) => rows('SELECT count(*) AS n FROM derived_history', db);

  it('is kept in the store for the next', () => {
    const db = ingested('kept');
    const first = text('peak', '--db', db, '--json=full');
    expect(text('peak', '--db', db, '--json=full')).toBe(first);
    expect(histories(db)).toEqual([[1]]);
  });

  it('answers the same where the store cannot be written', async () => {
    const db = ingested('frozen');
    const copy = ingested('writable');
    // A reader holds it, so that it cannot be written.
    const reader = startChild('lock-child.mjs', [join(cli.script, '..', '..', '..'), db, 'read']);
    expect(await reader.nextLine()).toBe('open');
    for (const verb of ['peak', 'state --at oom', 'state --map', 'timeline', 'diagnose', 'snapshot', 'allocations']) {
      const frozen = text(...verb.split(' '), '--db', db, '--json=full');
      expect(text(...verb.split(' '), '--db', copy, '--json=full'), verb).toBe(frozen);
    }
    expect(histories(db)).toEqual([[1]]);
    reader.writeLine('enough');
    await reader.ended;
    expect(histories(copy)).toEqual([[1]]);
  });

  it('is the same for SQL', () => {
    const { active_bytes, blocks, seq } = at('peak', OOM);
    const [live] = rows(`SELECT count(*), sum(actual_bytes) FROM live_at(1, 0, ${seq})`, storeOf(OOM));
    expect(live!.map(Number)).toEqual([blocks, active_bytes]);
  });

  it('fits into little memory', () => {
    const db = ingested('small');
    const plenty = text('peak', '--db', db, '--json=full');
    const smaller = text('peak', '--db', ingested('smaller'), '--json=full', '--memory-limit', '64MiB');
    expect(smaller.replaceAll('smaller', 'small')).toBe(plenty);
    expect(refuse(2, 'peak', '--db', db, '--memory-limit', '1MiB')).toMatch(/MBF1001.*64MiB/);
  });
});

describe('at on the corpus', () => {
  const files = snapshotPickles().filter((name) => truthOf(name).valid !== false);
  if (files.length === 0) {
    skipLoudly('at', 'the corpus (set MBF_CORPUS)');
    return;
  }
  it.each(sampled(files, 12))('%s adds up at its start, peak and end', (name) => {
    for (const moment of ['start', 'peak', 'end']) expectSums(at(moment, join(SNAPSHOTS, name), '--limit', '0'));
  });
});
