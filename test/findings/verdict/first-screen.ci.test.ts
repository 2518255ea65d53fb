/**
 * The first screen and its handles over a quarter of the committed samples, a run of every eighth cause, and recorded
 * snapshots.
 */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CAUSES_TO_GENERATE } from '../../../samples/generate/causes/index.js';
import { SAMPLES } from '../../../samples/generate/stories/index.js';
import { stateTotals } from '../../../src/allocator/walk/allocator-state.js';
import { stateAt } from '../../../src/derive/trace/state-at.js';
import { describeShow } from '../../../src/findings/verdict/show.js';
import { sourceLines } from '../../../src/ingest/read/source-lines.js';
import type { DiagnoseResult, ShowResult } from '../../../src/model/results/common.js';
import { documentText } from '../../../src/report/render/text.js';
import { showDocument } from '../../../src/report/start/show-document.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { scratchDirectory } from '../../store/scratch.js';
import { SNAPSHOTS, skipLoudly, truthOf } from '../../support/corpus.js';
import { sampled } from '../../support/level.js';
import { ingested } from '../../support/new-store.js';
import { expectScreen } from '../../support/screen.js';
import { generatedRun, samplePath, storeOf } from '../../support/stores.js';
import { diagnose } from './worded.js';

/** What is no snapshot fails to be read, and can be asked about all the same: `isRead` false. */
async function storeAt(path: string, isRead: boolean): Promise<Store> {
  if (isRead) return openStore(storeOf(path), { mode: 'read' });
  return (await ingested(join(realpathSync(scratchDirectory()), 'store.duckdb'), [path])).store;
}

const showText = (result: ShowResult): string => documentText(showDocument(result));

type Work<T> = (store: Store, runId: number, run: string) => Promise<T>;
async function withRun<T>(path: string, work: Work<T>, isRead = true): Promise<T> {
  const store = await storeAt(path, isRead);
  try {
    const [run] = await store.all('store.runs', { run_id: null });
    return await work(store, run!.run_id, run!.name);
  } finally {
    await store.close();
  }
}

/** What `show` does for every handle of every verdict (of the first ones, where there are many). */
async function expectHandles(store: Store, runId: number, result: DiagnoseResult): Promise<void> {
  for (const [i, verdict] of result.verdicts.slice(0, 3).entries()) {
    const show = (handle: string | undefined) =>
      describeShow(store, runId, result, { handle, verdict: i + 1, limit: 3, readLines: sourceLines, rules: [] });
    const list = showText(await show(undefined));
    for (const { id, text, lines, query } of verdict.evidence) {
      expect(list).toContain(`\n${id} `);
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

/** The screen of a run, and the rows behind it, as `show` has them. */
function examine(path: string, operands?: readonly string[], isRead = true): Promise<DiagnoseResult> {
  const work: Work<DiagnoseResult> = async (store, runId, run) => {
    const result = await diagnose(store, runId, run);
    expect(expectScreen(result, operands === undefined ? {} : { operands })).not.toMatch(/undefined|NaN|\[object/);
    await expectHandles(store, runId, result);
    return result;
  };
  return withRun(path, work, isRead);
}

describe('the first screen', () => {
  it.each(sampled(SAMPLES, 4))('of $name, twice the same', async ({ name }) => {
    const path = samplePath(name);
    const result = await examine(path, [path]);
    expect(result.verdicts.length).toBeGreaterThan(0);
    expect(await withRun(path, diagnose)).toEqual(result);
  });

  it.each(sampled(CAUSES_TO_GENERATE, 8))('of a run of $name', async ({ name }) => {
    const path = join(generatedRun(name, 11), 'run');
    await examine(path, [path]);
  });
});

describe('the rows behind a handle', () => {
  it.each(['llama3-70b-fragmentation', 'capacity'])('are the segments of the state that was judged: %s', (name) =>
    withRun(samplePath(name), async (store, runId, run) => {
      const result = await diagnose(store, runId, run);
      const [snapshot] = await store.all('snapshot.list', { run_id: runId, handle: null });
      const of = { snapshot_id: snapshot!.snapshot_id, device: result.verdicts[0]!.device! };
      const { state, seq } = await stateAt(store, of.snapshot_id, of.device, { kind: 'oom' });
      const rows = await store.all('finding.segments_at', { ...of, at_seq: seq! });
      const { reservedBytes, activeBytes } = stateTotals(state);
      const sum = (field: 'total_bytes' | 'active_bytes') => rows.reduce((total, row) => total + Number(row[field]), 0);
      expect([sum('total_bytes'), sum('active_bytes')]).toEqual([reservedBytes, activeBytes]);
      const live = await store.all('finding.live_stacks', { ...of, at_seq: seq! });
      expect(live.reduce((total, row) => total + Number(row.bytes), 0)).toBe(activeBytes);
    }),
  );
});

/** Larger ones take minutes to walk, and have their own tests. */
const MOST_BYTES = 20_000_000;

describe('the first screen of recorded snapshots', () => {
  const names = existsSync(SNAPSHOTS) ? readdirSync(SNAPSHOTS, { recursive: true, encoding: 'utf8' }) : [];
  const files = names.filter((name) => {
    const stats = statSync(join(SNAPSHOTS, name));
    return /\.pickle(\.gz)?$/.test(name) && stats.isFile() && stats.size <= MOST_BYTES;
  });
  if (files.length === 0) skipLoudly('first screens of recorded snapshots', 'the reference corpus (MBF_CORPUS)');

  it.each(sampled(files, 8))('%s fits the screen, and its handles have rows', async (file) => {
    const isRead = truthOf(file).valid !== false;
    const { verdicts } = await examine(join(SNAPSHOTS, file), undefined, isRead);
    if (isRead) expect(verdicts.length).toBeGreaterThan(0);
  });
});
