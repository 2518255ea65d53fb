/**
 * Replay and what-if against PyTorch's own allocator: recordings of its code on a runtime that only counts bytes, and
 * the same requests served again by it under other settings, on other devices.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrate, settingRows } from '../../src/derive/replay/ask.js';
import { questionOf, recordedQuestion } from '../../src/derive/replay/sweep-questions.js';
import { openScratch } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { NIGHTLY, sampled } from '../support/level.js';
import { deviceOf, isPerfect, type Recorded, replaysOf } from './lab-store.js';

const LAB = join(CORPUS, 'lab');

/** A script of requests, its recordings, and the same requests served again. */
interface Script {
  readonly family: string;
  readonly recordings: readonly { readonly recording: string; readonly others: number }[];
  readonly rows: readonly {
    readonly recording: string;
    readonly conf: string;
    readonly total: number;
    readonly fraction: number;
    readonly first_oom: number;
    readonly peak_reserved: number;
  }[];
}

/** Of one stream, in which the program never empties its cache: nothing is lost there. */
const COMPLETE = /^llm-(?!ddp)/;

describe("recordings of PyTorch's own allocator", () => {
  if (!existsSync(LAB)) {
    skipLoudly("recordings of PyTorch's own allocator", 'the corpus (set MBF_CORPUS)');
    return;
  }
  let store: Store;
  let recorded: Recorded[];

  beforeAll(async () => {
    store = await openScratch();
    recorded = await replaysOf(store, [LAB]);
  });

  afterAll(() => store.close());

  it('are never accepted with a difference, and refused only where the file lacks pools or settings', () => {
    const names = readdirSync(LAB).filter((name) => statSync(join(LAB, name)).isDirectory());
    expect(recorded.length).toBe(names.length);
    const refused: string[] = [];
    for (const { run, replay } of recorded) {
      if (replay.status !== 'refused') {
        expect([replay.status, isPerfect(replay)], run).toEqual(['exact', true]);
        continue;
      }
      refused.push(run);
      const truth = JSON.parse(gunzipSync(readFileSync(join(LAB, `${run}.truth.json.gz`))).toString('utf8')) as {
        readonly torch_version?: string;
      };
      // Entries contain pools from 2.12 on, and files settings from 2.2 on.
      expect(Number(truth.torch_version?.split('.')[1]), run).toBeLessThan(12);
    }
    console.info(`recordings: ${recorded.length}, refused: ${refused.length}`);
    expect(refused.length).toBeLessThanOrEqual(recorded.length * 0.05);
  });

  it('answer what-if questions as the allocator does, or state an interval that contains it', async () => {
    const table = JSON.parse(readFileSync(join(LAB, 'table.json'), 'utf8')) as readonly Script[];
    const none = () => ({ asked: 0, right: 0, unsure: 0, widths: [] as number[] });
    const sums = { complete: none(), lossy: none() };
    const runIds = new Map(recorded.map(({ run, runId }) => [run, runId]));
    for (const { family, recordings, rows } of table) {
      for (const { recording, others } of recordings) {
        const runId = runIds.get(recording);
        if (runId === undefined) continue;
        const device = await deviceOf(store, { run: recording, runId });
        const calibration = calibrate(device);
        const { settings } = device.stored.recording;
        const ownRows = rows.filter((row) => row.recording === recording);
        for (const row of sampled(ownRows, 16)) {
          const question =
            row.conf === '' ? recordedQuestion(settings) : questionOf(settings, row.conf, row.fraction > 0);
          const limit = row.fraction > 0 ? Math.floor(row.fraction * row.total) : null;
          const answers = settingRows(device, question, row.total - others, limit, calibration);
          const label = `${recording} ${row.conf} ${row.total}`;
          const fits = row.first_oom === -1;
          const agrees = answers.every(({ outcome }) => (outcome === 'fits') === fits);
          const least = Math.min(...answers.map((answer) => answer.peak_reserved_least_bytes));
          const most = Math.max(...answers.map((answer) => answer.peak_reserved_most_bytes));
          const isInside = row.peak_reserved >= least && row.peak_reserved <= most;
          const robust = answers.every((answer) => answer.robust);
          if (robust) expect({ label, agrees }).toEqual({ label, agrees: true });
          const width = (most - least) / row.peak_reserved;
          const isComplete = COMPLETE.test(family);
          const sum = isComplete ? sums.complete : sums.lossy;
          sum.asked += 1;
          sum.widths.push(width);
          if (agrees && isInside) sum.right += 1;
          if (!robust) sum.unsure += 1;
          if (!isComplete) expect({ label, isInside }).toEqual({ label, isInside: true });
        }
      }
    }
    const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
    const { complete, lossy } = sums;
    console.info(
      `what-if: ${complete.right} of ${complete.asked} where nothing is lost; elsewhere ${lossy.asked}, ${lossy.unsure} undecided, median width ${(100 * median(lossy.widths)).toFixed(2)} %`,
    );
    expect(complete.right / complete.asked).toBeGreaterThanOrEqual(0.995);
    expect(median(complete.widths)).toBe(0);
    // How often, and how wide, is a bar for all of them; for a sample, within three standard deviations of it.
    const noise = NIGHTLY ? 0 : 3 * Math.sqrt(0.05 * 0.95 * lossy.asked);
    expect(lossy.unsure).toBeLessThanOrEqual(0.05 * lossy.asked + noise);
    const narrow = lossy.widths.filter((width) => width <= 0.02).length;
    expect(narrow).toBeGreaterThanOrEqual(0.5 * lossy.asked - (NIGHTLY ? 0 : 1.5 * Math.sqrt(lossy.asked)));
  }, 900_000);
});
