/**
 * Attribution of every recording of the corpus: it adds up, leaves little over, and agrees with arithmetic where
 * training makes it so.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { labelAt } from '../../src/attribution/blocks/labels.js';
import { compiledRules } from '../../src/attribution/built-in-rules.js';
import type { DeviceAttribution } from '../../src/derive/attribution/attribute-device.js';
import { attributeDevice } from '../../src/derive/attribution/attribute-device.js';
import { useLabels } from '../../src/derive/attribution/use-labels.js';
import { stateAt } from '../../src/derive/trace/state-at.js';
import { ingest } from '../../src/ingest/ingest.js';
import { COMPONENTS, type Component } from '../../src/model/vocabulary.js';
import type { Store } from '../../src/store/store.js';
import { SNAPSHOTS } from '../support/corpus.js';
import { newStore } from '../support/new-store.js';
import { validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, sum } from './corpus-suite.js';

const files = validSnapshots();
const RULES = compiledRules();
/** Of live bytes at the peak, at most so much may be of no known component. */
const MOST_UNKNOWN = 0.02;
/** Of a recording whose allocations have Python stacks: at least so much of the bytes allocated. */
const MOST_BYTES_WITH_FRAMES = 0.5;
const TOLERANCE = 0.01;

interface Case {
  readonly store: Store;
  readonly device: number;
  readonly of: DeviceAttribution;
}

/** Every device of a recording that has anything. */
async function devicesOf(store: Store, name: string): Promise<Case[]> {
  await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [join(SNAPSHOTS, name)], now: new Date() });
  const cases: Case[] = [];
  for (const { device, segments, events } of await store.all('snapshot.devices', { snapshot_id: 1 })) {
    if (segments === 0 && events === null) continue;
    cases.push({ store, device, of: await attributeDevice(store, { snapshotId: 1, device }, RULES) });
  }
  return cases;
}

/** Requested bytes by component after an entry: equal tensors are equal there, whatever rounding made of them. */
function requestedAt(of: DeviceAttribution, seq: number): Map<Component, number> {
  const sums = new Map<Component, number>();
  const { lives } = of;
  for (let row = 0; row < lives.count; row += 1) {
    if (lives.allocSeq[row]! > seq || lives.freedSeq[row]! <= seq) continue;
    const { component } = labelAt(of, row);
    sums.set(component, (sums.get(component) ?? 0) + Math.max(0, lives.requested[row]!));
  }
  return sums;
}

/** Allocated bytes of the trace whose stacks have Python frames, as a share. */
function shareWithFrames({ lives, classes }: DeviceAttribution): number {
  let all = 0;
  let framed = 0;
  for (let row = lives.starts; row < lives.count; row += 1) {
    all += lives.bytes[row]!;
    if (classes(lives.stackId[row]!).kind === 'python') framed += lives.bytes[row]!;
  }
  return all === 0 ? 0 : framed / all;
}

corpusSuite('attribution of the corpus', files, () => {
  let fromTheStart = 0;
  let trained = 0;

  describe.each(files)('%s', (name) => {
    const directory = temporaryDirectory();
    let store: Store;
    let devices: readonly Case[] = [];
    beforeAll(async () => {
      store = await newStore(join(directory, 'store.duckdb'), { threads: 1 });
      devices = await devicesOf(store, name);
    });
    afterAll(async () => {
      devices = [];
      await store.close();
    });

    it('adds up, and leaves little over where it was recorded from the start', async () => {
      for (const { device, of } of devices) {
        for (const kind of ['peak', 'end'] as const) {
          const at = await stateAt(store, 1, device, { kind });
          await useLabels(store, 1, device, RULES);
          const id = { snapshot_id: 1, device, at_seq: at.seq ?? -1 };
          const rows = await store.all('attribution.components', id);
          const total = sum(rows.map(({ bytes }) => bytes));
          expect(total).toBe(stateTotals(at.state).activeBytes);
          expect(sum(rows.map(({ blocks }) => blocks))).toBe(at.state.blocks.count);
          for (const row of rows) {
            expect(COMPONENTS).toContain(row.component);
            expect(row.known_by === 'none').toBe(row.rules.trim() === '');
          }
          if (kind !== 'peak' || !of.history.startsEmpty || shareWithFrames(of) < MOST_BYTES_WITH_FRAMES) continue;
          fromTheStart += 1;
          const unknown = sum(rows.filter((row) => row.known_by === 'none').map(({ bytes }) => bytes));
          expect(unknown / total, `${name} device ${device}`).toBeLessThanOrEqual(MOST_UNKNOWN);
        }
      }
    });

    it('has the same components in the series as at its peak', async () => {
      for (const { device, of } of devices) {
        const { peak, holds, freeCompletedRecorded } = of.history;
        if (of.lives.events === 0 || !holds || !freeCompletedRecorded || peak.seq === null) continue;
        await useLabels(store, 1, device, RULES);
        const rows = await store.all('attribution.series', {
          snapshot_id: 1,
          device,
          firsts: `0,${peak.seq + 1}`,
          lasts: `${peak.seq},${of.lives.events - 1}`,
        });
        const first = rows.filter(({ nth }) => nth === 0);
        expect(sum(first.map(({ bytes }) => bytes))).toBe(peak.bytes);
      }
    });

    it('has gradients as large as its parameters, and states twice as large, if it trains with Adam', () => {
      for (const { of } of devices) {
        const windows = of.phases.spansOf('optimizer_step');
        const step = windows.at(-1);
        if (step === undefined) continue;
        const before = requestedAt(of, step.firstSeq - 1);
        const after = requestedAt(of, step.lastSeq);
        const [parameters, gradients] = [before.get('parameter') ?? 0, before.get('gradient') ?? 0];
        const states = after.get('optimizer_state') ?? 0;
        // Sharded, frozen or half-precision training has other ratios; two fp32 moments for each fp32 parameter is what
        // is held against arithmetic.
        if (parameters === 0 || Math.abs(states / parameters - 2) > 0.5) continue;
        trained += 1;
        expect(Math.abs(states / parameters - 2), `${name}: states`).toBeLessThanOrEqual(2 * TOLERANCE);
        expect(Math.abs(gradients / parameters - 1), `${name}: gradients`).toBeLessThanOrEqual(TOLERANCE);
      }
    });
  });

  it('had recordings of both kinds', () => {
    expect(fromTheStart).toBeGreaterThan(0);
    expect(trained).toBeGreaterThan(0);
  });
});
