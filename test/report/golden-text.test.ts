/** The screens of `golden list` and `golden show`. */
import { describe, expect, it } from 'vitest';
import type { Measurement } from '../../src/model/measurement.js';
import type { GoldenListResult, GoldenShowResult } from '../../src/model/results/golden.js';
import { goldenListDocument, goldenShowDocument } from '../../src/report/compare/golden-document.js';
import type { Document } from '../../src/report/document/document.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentText } from '../../src/report/render/text.js';
import { goldenFile } from '../screens/golden-file.js';
import { gib, goldenList, goldenShow, HOSTILE, measuredRank, measurement, PEAK } from '../support/compare-results.js';

function textOf(document: Document): string {
  documentJson(document);
  return documentText(document);
}
const goldenListText = (result: GoldenListResult): string => textOf(goldenListDocument(result));
const goldenShowText = (result: GoldenShowResult): string => textOf(goldenShowDocument(result));

function expectFits(text: string): void {
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  expect(text).not.toMatch(/undefined|NaN|\bnull\b|\[object/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
}

/** A run of which nothing is known. */
const BLANK: Partial<Measurement> = {
  commit: null,
  status: {
    ...{ ending: 'no_training', failure: null, verdict: null, attempts: 0 },
    ...{ first_iteration: null, last_iteration: null, target_iterations: null },
  },
  parallel: { tp: null, pp: null, vpp: null, cp: null, ep: null, dp: null, etp: null },
  gpu: { name: null, total_bytes: null },
  ...{ world_size: null, versions: {}, allocator_conf: null, ranks: [], peaks: [], steps: null, config: {} },
};

describe('goldenListText', () => {
  it('has a line for each', async () => {
    await expect(goldenListText(goldenList())).toMatchFileSnapshot(goldenFile('golden-list.txt'));
  });

  it('explains how to create the first one', () => {
    expect(goldenListText(goldenList({ goldens: [] }))).toBe(
      'No golden values in mbforensics.duckdb\nmbforensics golden add RUN --name NAME makes them of a run\n',
    );
  });

  it('fits the screen', () => {
    const [golden] = goldenList().goldens;
    const hostile = { ...golden!, name: HOSTILE, commits: [HOSTILE, 'x'], added_at: HOSTILE, ending: null };
    expectFits(goldenListText(goldenList({ db: HOSTILE, goldens: [hostile] })));
  });
});

describe('goldenShowText', () => {
  it('shows what they hold', async () => {
    await expect(goldenShowText(goldenShow())).toMatchFileSnapshot(goldenFile('golden-show.txt'));
  });

  it('is short for a run with few known facts', async () => {
    const text = goldenShowText(goldenShow({ runs: [measurement('blank', BLANK)], bands: [] }));
    await expect(text).toMatchFileSnapshot(goldenFile('golden-show-blank.txt'));
    expect(goldenShowText(goldenShow({ runs: [] }))).toContain('it holds no run');
  });

  it('distinguishes what differs between runs, and names failures', () => {
    const { status } = measurement('x');
    const failure = {
      kind: 'cuda_oom' as const,
      rank: 0,
      stage: 0,
      iteration: 2,
      text: 'CUDA out of memory',
      file: 'a.log',
      line: 3,
    };
    const died = measurement('run-2', {
      versions: { torch: '2.7.0' },
      gpu: { name: 'NVIDIA H200', total_bytes: null },
      status: { ...status, ending: 'oom', failure, last_iteration: 2 },
      config: { micro_batch_size: '2' },
      disturbances: [{ kind: 'straggler', text: 'rank 3 was slow' }],
    });
    const text = goldenShowText(goldenShow({ runs: [measurement('run-1'), died] }));
    expect(text).toContain('torch 2.6.0 | 2.7.0, cuda 12.8');
    expect(text).toContain('; 4 ranks · NVIDIA H200 · TP 2 PP 2\n');
    expect(text).toMatch(/\nrun-2 .* oom .*\n +CUDA out of memory \(cuda_oom\)\n/);
    expect(text).toContain('1–2 of 50');
    expect(text).toContain('micro_batch_size 1 | 2');
    expect(text).toMatch(/\ndisturbed +rank 3 was slow\n/);
  });

  it('shows a dozen settings and counts the others', () => {
    const keys = ['micro_batch_size', 'global_batch_size', 'seq_length', 'sequence_parallel', 'num_layers', 'bf16'];
    const more = ['tensor_model_parallel_size', 'hidden_size', 'fp8_recipe', 'recompute_method', 'recompute_modules'];
    const last = ['use_distributed_optimizer', 'overlap_grad_reduce', 'lr'];
    const config = Object.fromEntries([...keys, ...more, ...last].map((key) => [key, '1']));
    const text = goldenShowText(goldenShow({ runs: [measurement('a', { config })] }));
    const shown = [...text.slice(text.indexOf('\nconfig')).matchAll(/\w+\s+1\b/g)];
    expect(shown).toHaveLength(12);
    expect(text).toMatch(/\nother settings +2 \(--json=full\)\n/);
  });

  it('fits the screen', () => {
    const h = HOSTILE;
    const hostile = measurement(h, {
      commit: h,
      gpu: { name: h, total_bytes: 1 },
      versions: { [h]: h },
      config: { [h]: h, micro_batch_size: h },
      allocator_conf: h,
      peaks: [{ ...PEAK, handle: h, settings: { [h]: h } }],
      ranks: Array.from({ length: 500 }, (_, i) => measuredRank(3 * i, i, gib(900 + i))),
      disturbances: [{ kind: 'throttling', text: h }],
    });
    const bands = [{ metric: h, unit: h, runs: 1, low: 1, median: 0, high: 2, spread: 0.5 }];
    expectFits(
      goldenShowText(goldenShow({ name: h, source: h, runs: Array.from({ length: 9 }, () => hostile), bands })),
    );
  });
});
