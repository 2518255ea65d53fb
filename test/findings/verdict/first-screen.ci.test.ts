/**
 * The first screen and its handles over every committed sample, a run of every cause, and (with MBF_CORPUS) recorded
 * snapshots.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CAUSES_TO_GENERATE } from '../../../samples/generate/causes/index.js';
import { SAMPLES } from '../../../samples/generate/stories/index.js';
import { runDirectory, TRUTH_NAME } from '../../../samples/generate/write/run-directory.js';
import { stateTotals } from '../../../src/allocator/walk/allocator-state.js';
import { stateAt } from '../../../src/findings/trace/state-at.js';
import { describeShow } from '../../../src/findings/verdict/show.js';
import { sourceLines } from '../../../src/ingest/source-lines.js';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import { showText } from '../../../src/report/start/show-text.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { repoRoot, scratchDirectory } from '../../store/scratch.js';
import { NIGHTLY, sampled } from '../../support/level.js';
import { ingested } from '../../support/new-store.js';
import { expectScreen } from '../../support/screen.js';
import { diagnose } from './worded.js';

async function onStore<T>(opening: Promise<Store>, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await opening;
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function withRun<T>(
  path: string,
  work: (store: Store, runId: number, run: string, file: string) => Promise<T>,
): Promise<T> {
  const file = join(realpathSync(scratchDirectory()), 'store.duckdb');
  const opening = ingested(file, [path]).then(({ store }) => store);
  return onStore(opening, async (store) => {
    const [run] = await store.all('store.runs', { run_id: null });
    return work(store, run!.run_id, run!.name, file);
  });
}

/** What `show` does for every handle of every verdict (of the first ones, where there are many). */
async function expectHandles(store: Store, runId: number, result: DiagnoseResult): Promise<void> {
  for (const [i, verdict] of result.verdicts.slice(0, 3).entries()) {
    const show = (handle: string | undefined) =>
      describeShow(store, runId, result, { handle, verdict: i + 1, limit: 3, readLines: sourceLines, rules: [] });
    const list = showText(await show(undefined));
    for (const { id, text, lines, query } of verdict.evidence) {
      expect(list).toContain(`  ${id} `);
      const shown = await show(id);
      const screen = showText(shown);
      expect(screen).not.toMatch(/undefined|NaN|\[object/);
      expect(shown.evidence?.text).toBe(text);
      // Whatever is in a file of the run has rows, and they are those of its query.
      expect(lines, text).toBeDefined();
      expect(query, text).toBeDefined();
      expect(shown.query?.params).toEqual(query!.params);
      expect(shown.rows.length, `${id} ${text}: ${query!.name}`).toBeGreaterThan(0);
      expect(shown.rows.every((row) => row.length === shown.columns.length)).toBe(true);
      if (lines !== undefined && 'line' in lines) {
        expect(shown.text?.status).toBe('same');
        expect(shown.text!.lines.length).toBeGreaterThan(0);
        expect(screen).toContain(`> ${lines.line.toLocaleString('en-US')}  `);
      }
    }
    const accounts = await show('accounting');
    expect(accounts.accounting?.total).toEqual(verdict.accounting_total);
    const screen = showText(accounts);
    expect(screen.includes('peak')).toBe(verdict.accounting_peak !== null);
    expect(screen.includes('no account')).toBe(verdict.accounting_peak === null && verdict.accounting_total === null);
  }
}

/**
 * The screen of a run that was just ingested, and the rows behind it, as `show` has them.
 */
async function examine(path: string, target: { readonly operands?: readonly string[] } = {}): Promise<DiagnoseResult> {
  const { file, runId, run, result } = await withRun(path, async (store, runId, run, file) => {
    const result = await diagnose(store, runId, run);
    expect(expectScreen(result, target)).not.toMatch(/undefined|NaN|\[object/);
    await expectHandles(store, runId, result);
    return { file, runId, run, result };
  });
  // The same question once more gives the same answer: of the samples, for it takes as long as the rest.
  if (target.operands?.[0]?.startsWith(join(repoRoot, 'samples')))
    await onStore(openStore(file, { mode: 'read' }), async (store) => {
      expect(await diagnose(store, runId, run)).toEqual(result);
    });
  return result;
}

describe('the first screen', () => {
  it.each(SAMPLES)('of $name', async ({ name }) => {
    const path = join(repoRoot, 'samples', name);
    const { verdicts } = await examine(path, { operands: [path] });
    expect(verdicts.length).toBeGreaterThan(0);
  });

  if (NIGHTLY)
    it.each(sampled(CAUSES_TO_GENERATE, 2))('of a run of $name', async (cause) => {
      const directory = join(realpathSync(scratchDirectory()), cause.name);
      mkdirSync(directory);
      for (const [file, bytes] of runDirectory(cause.build(11)))
        if (file !== TRUTH_NAME) writeFileSync(join(directory, file), bytes);
      await examine(directory, { operands: [directory] });
    });
});

describe('the rows behind a handle', () => {
  it('are the segments of the state that was judged, to the byte', async () => {
    for (const name of ['llama3-70b-fragmentation', 'capacity']) {
      await withRun(join(repoRoot, 'samples', name), async (store, runId, run) => {
        const result = await diagnose(store, runId, run);
        const [snapshot] = await store.all('snapshot.list', { run_id: runId, handle: null });
        const device = result.verdicts[0]!.device!;
        const { state, seq } = await stateAt(store, snapshot!.snapshot_id, device, { kind: 'oom' });
        const rows = await store.all('finding.segments_at', {
          snapshot_id: snapshot!.snapshot_id,
          device,
          at_seq: seq!,
        });
        const totals = stateTotals(state);
        const sum = (field: 'total_bytes' | 'active_bytes'): number =>
          rows.reduce((total, row) => total + Number(row[field]), 0);
        expect(sum('total_bytes')).toBe(totals.reservedBytes);
        expect(sum('active_bytes')).toBe(totals.activeBytes);
        const live = await store.all('finding.live_stacks', {
          snapshot_id: snapshot!.snapshot_id,
          device,
          at_seq: seq!,
        });
        expect(live.reduce((total, row) => total + Number(row.bytes), 0)).toBe(totals.activeBytes);
      });
    }
  });
});

const corpus = process.env['MBF_CORPUS'];
const snapshots = corpus === undefined ? '' : join(corpus, 'snapshots');
/** Larger ones take minutes to walk, and have their own tests. */
const MOST_BYTES = 20_000_000;

describe.runIf(NIGHTLY)('recorded snapshots', () => {
  const files = existsSync(snapshots)
    ? readdirSync(snapshots, { recursive: true, encoding: 'utf8' }).filter((name) => {
        const stats = statSync(join(snapshots, name));
        return /\.pickle(\.gz)?$/.test(name) && stats.isFile() && stats.size <= MOST_BYTES;
      })
    : [];
  if (files.length === 0) console.warn('first screens of recorded snapshots: skipped: the corpus (set MBF_CORPUS)');
  let judged = 0;
  afterAll(() => {
    if (files.length > 0) expect(judged).toBeGreaterThan(0);
  });

  it.skipIf(files.length === 0)('each fit the screen, and their handles have rows', async () => {
    for (const file of sampled(files, 2)) {
      const { verdicts } = await examine(join(snapshots, file));
      judged += verdicts.length;
    }
  });
});
