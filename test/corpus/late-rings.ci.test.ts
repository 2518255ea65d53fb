/**
 * Labels of a dump whose ring lost the beginning, against those of the whole recording: the same blocks are the same
 * components. Dumps are cut from the complete recordings of the corpus, in the middle of passes and of steps.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { labelAt } from '../../src/attribution/blocks/labels.js';
import { NEVER, sizeOf } from '../../src/attribution/blocks/lives.js';
import { compiledRules } from '../../src/attribution/built-in-rules.js';
import { attributeDevice, type DeviceAttribution } from '../../src/derive/attribution/attribute-device.js';
import { ingest } from '../../src/ingest/ingest.js';
import { getOrAdd } from '../../src/model/group-by.js';
import type { Phase } from '../../src/model/log-rows.js';
import type { Component } from '../../src/model/vocabulary.js';
import type { Store } from '../../src/store/store.js';
import { CORPUS, hasPython, SNAPSHOTS } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { newStore } from '../support/new-store.js';
import { validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, namesIn, THE_CORPUS } from './corpus-suite.js';
import { cutRings } from './cut-rings.js';

const RULES = compiledRules();
const files = [
  ...['megatron', 'lab'].flatMap((folder) =>
    namesIn(folder).map((name) => join(CORPUS, folder, name, 'snapshot.pickle.gz')),
  ),
  ...validSnapshots().map((name) => join(SNAPSHOTS, name)),
].filter((path) => existsSync(path));

/** Shorter traces lack steps to cut. */
const LEAST_ENTRIES = 1000;
/** Entries that a ring has at least, and a window that is worth to be cut in its middle. */
const LEAST_KEPT = 20;
const LEAST_WINDOW = 8;
const UNKNOWN: ReadonlySet<Component> = new Set<Component>(['before_recording', 'unattributed']);
const MODEL: ReadonlySet<Component> = new Set<Component>(['parameter', 'gradient', 'optimizer_state']);

interface Labelled {
  readonly of: DeviceAttribution;
  /** By row. */
  readonly address: Float64Array;
}

async function ingested(store: Store, path: string): Promise<void> {
  await ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], now: new Date() });
}

/** Bytes compared, and those that are of another component than in the whole recording. */
interface Figures {
  compared: number;
  /** One of the two is a parameter, a gradient or a state. */
  model: number;
  other: number;
  /** Known in the whole recording alone. */
  unknown: number;
}

corpusSuite(
  'a recording whose ring lost its beginning',
  hasPython ? files : [],
  () => {
    const directory = temporaryDirectory();
    const total: Figures = { compared: 0, model: 0, other: 0, unknown: 0 };

    async function labelled(path: string, device: number): Promise<Labelled> {
      const file = join(directory, 'one.duckdb');
      rmSync(file, { force: true });
      const store = await newStore(file, { threads: 1 });
      try {
        await ingested(store, path);
        const of = await attributeDevice(store, { snapshotId: 1, device }, RULES);
        const rows = await store.select(
          'SELECT block, address::DOUBLE AS address FROM block_life WHERE device = $device ORDER BY block',
          { device },
        );
        return { of, address: Float64Array.from(rows, (row) => Number(row['address'])) };
      } finally {
        await store.close();
      }
    }

    it.each(sampled(files, 24))('has the components of the whole: %s', async (file) => {
      const folder = join(directory, 'rings');
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      const path = join(directory, 'recording.duckdb');
      rmSync(path, { force: true });
      const store = await newStore(path, { threads: 1 });
      try {
        await ingested(store, file);
        for (const { device, events } of await store.all('snapshot.devices', { snapshot_id: 1 })) {
          if (events === null || events < LEAST_ENTRIES) continue;
          const full = await attributeDevice(store, { snapshotId: 1, device }, RULES);
          // Truth are recordings from the start, with stacks (not those of context="state").
          if (!full.history.startsEmpty || !hasStacks(full)) continue;
          const last = events - 1;
          for (const end of new Set([last, ...middles(full, 'optimizer_step', 1)])) {
            const firsts = [...middles(full, 'forward', 0.6), ...middles(full, 'backward', 0.6), Math.floor(0.9 * end)]
              .filter((first) => first > 0 && first <= end - LEAST_KEPT)
              .sort((a, b) => a - b);
            const rings = { file, device, end, isFilesEnd: end === last, firsts: [0, ...new Set(firsts)] };
            const [whole, ...cuts] = await cutRings(store, rings, folder);
            const truth = await labelled(whole!, device);
            for (const [i, cut] of cuts.entries())
              compare(truth, await labelled(cut, device), rings.firsts[i + 1]!, total);
          }
        }
      } finally {
        await store.close();
      }
    });

    it('labels next to nothing otherwise', () => {
      const share = (bytes: number): string => `${((100 * bytes) / total.compared).toFixed(4)} %`;
      console.info(
        `late rings: ${(total.compared / 2 ** 30).toFixed(1)} GiB compared, otherwise ${share(total.model)} of the model and its optimizer, ${share(total.other)} elsewhere, no longer known ${share(total.unknown)}`,
      );
      expect(total.compared).toBeGreaterThan(0);
      expect(total.model / total.compared).toBeLessThanOrEqual(0.005);
      expect(total.other / total.compared).toBeLessThanOrEqual(0.01);
    });
  },
  files.length === 0 ? THE_CORPUS : 'python3',
);

function hasStacks({ lives, classes }: DeviceAttribution): boolean {
  for (let row = lives.starts; row < lives.count; row += 1)
    if (classes(lives.stackId[row]!).kind === 'python') return true;
  return false;
}

/** The middle of that window of a phase which is at this part of all of them. */
function middles({ phases }: DeviceAttribution, phase: Phase, part: number): number[] {
  const spans = phases.spansOf(phase).filter(({ firstSeq, lastSeq }) => lastSeq - firstSeq >= LEAST_WINDOW);
  const span = spans[Math.floor((spans.length - 1) * part)];
  return span === undefined ? [] : [Math.floor((span.firstSeq + span.lastSeq) / 2)];
}

/**
 * Adds the bytes of the blocks that both have: live where the ring begins, or allocated later. Of several blocks of one
 * size without stacks the set of each is unknown, so the bytes of each size and fate are compared.
 */
function compare(whole: Labelled, cut: Labelled, first: number, to: Figures): void {
  const before = new Map<number, number>();
  const after = new Map<number, number>();
  const { lives } = whole.of;
  for (let row = 0; row < lives.count; row += 1) {
    if (lives.allocSeq[row]! >= first) after.set(lives.allocSeq[row]! - first, row);
    // A block whose free was requested before may still be there.
    else if (!before.has(whole.address[row]!) || lives.freedSeq[row]! >= first) before.set(whole.address[row]!, row);
  }
  const groups = new Map<string, Map<Component, number>>();
  const { lives: late } = cut.of;
  for (let row = 0; row < late.count; row += 1) {
    const isOlder = row < late.starts;
    const twin = isOlder ? before.get(cut.address[row]!) : after.get(late.allocSeq[row]!);
    expect(twin).toBeDefined();
    const is = labelAt(cut.of, row).component;
    const was = labelAt(whole.of, twin!).component;
    if (UNKNOWN.has(was)) continue;
    to.compared += late.bytes[row]!;
    const fate = `${isOlder} ${late.freedSeq[row] === NEVER} ${sizeOf(late, row)}`;
    const group = getOrAdd(groups, fate, () => new Map<Component, number>());
    group.set(was, (group.get(was) ?? 0) - late.bytes[row]!);
    group.set(is, (group.get(is) ?? 0) + late.bytes[row]!);
  }
  for (const group of groups.values()) {
    const missing = [...group].filter(([, bytes]) => bytes < 0);
    const isOfModel = missing.some(([component]) => MODEL.has(component));
    for (const [component, bytes] of group) {
      if (bytes <= 0) continue;
      if (UNKNOWN.has(component)) to.unknown += bytes;
      else if (isOfModel || MODEL.has(component)) to.model += bytes;
      else to.other += bytes;
    }
  }
}
