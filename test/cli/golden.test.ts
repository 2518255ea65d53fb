/**
 * Golden values as their user has them: kept in the store, in a file of the repository, in the files of the upstream
 * projects.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GoldenDocument } from '../../src/model/measurement.js';
import type { GoldenListResult, GoldenShowResult } from '../../src/model/results/golden.js';
import { MIB } from '../../src/model/units.js';
import { asker } from '../support/ask.js';
import { oomLines, writeTraining } from '../support/training-log.js';

const PEAKS = [
  { rank: 0, first: 50_000, later: 57_000 },
  { rank: 4, first: 40_000, later: 45_000 },
];

describe('golden values', () => {
  const { cwd, ends: mbf, refuse } = asker();
  const list = (): GoldenListResult => mbf(0, 'golden', 'list', '--json=full').json<GoldenListResult>();
  beforeAll(() => {
    writeTraining(cwd, 'first', { peaks: PEAKS, stepMs: (i) => (i === 1 ? 9000 : 1000 + i) });
    writeTraining(cwd, 'second', { peaks: PEAKS, stepMs: (i) => (i === 1 ? 9000 : 1010 + i) });
    writeTraining(cwd, 'dead', { peaks: PEAKS, iterations: 4, target: 10, after: oomLines(0), finished: false });
    mbf(0, 'ingest', 'first', 'second', 'dead');
  });

  it('keeps a run and a second one, whose spread becomes the noise', () => {
    mbf(0, 'golden', 'add', 'first', '--name', 'base');
    expect(list().goldens).toMatchObject([
      { name: 'base', runs: 1, ending: 'completed', peak_allocated_bytes: 57_000 * MIB, step_ms: 1006 },
    ]);
    mbf(0, 'golden', 'add', 'second', '--name', 'base');
    const { bands, runs } = mbf(0, 'golden', 'show', 'base', '--json=full').json<GoldenShowResult>();
    expect(runs.map(({ run }) => run)).toEqual(['first', 'second']);
    expect(bands.find(({ metric }) => metric === 'step_time')).toMatchObject({
      runs: 2,
      low: 1006,
      high: 1016,
      median: 1011,
    });
    expect(bands.find(({ metric }) => metric === 'step_time')!.spread).toBeCloseTo(Math.SQRT1_2 * 10, 6);
    expect(mbf(0, 'golden', 'show', 'base').stdout).toContain('55.66 GiB');
  });

  it('goes through a file unchanged, run by run', () => {
    mbf(0, 'golden', 'export', 'base.json', '--name', 'base');
    const document = JSON.parse(readFileSync(join(cwd, 'base.json'), 'utf8')) as GoldenDocument;
    expect(document).toMatchObject({ schema: 'mbforensics/golden@1', name: 'base' });
    mbf(0, 'golden', 'import', 'base.json', '--name', 'again');
    const show = (name: string) => mbf(0, 'golden', 'show', name, '--json=full').json<GoldenShowResult>().runs;
    expect(show('again')).toEqual(show('base'));
    expect(show('base.json')).toEqual(document.runs);
    expect(refuse(2, 'golden', 'export', 'base.json', '--name', 'base')).toContain('MBF1007');
    mbf(0, 'golden', 'remove', 'again');
    expect(list().goldens.map(({ name }) => name)).toEqual(['base']);
  });

  it.each([
    ['mlm', 'mem-max-allocated-bytes'],
    ['bridge', 'max_alloc'],
  ])('writes and reads the golden files of the upstream project: %s', (form, key) => {
    const file = `upstream-${form}.json`;
    mbf(0, 'golden', 'export', file, '--name', 'base', '--as', form);
    expect(readFileSync(join(cwd, file), 'utf8')).toContain(key);
    const name = `from-${form}`;
    mbf(0, 'golden', 'import', file, '--name', name);
    const [run] = mbf(0, 'golden', 'show', name, '--json=full').json<GoldenShowResult>().runs;
    expect(run!.steps).toMatchObject({ from: 2, to: 10, median_ms: 1006 });
    // Bridge has five significant digits, Megatron bytes.
    expect(run!.ranks[0]!.first_peak_allocated_bytes! / (50_000 * MIB)).toBeCloseTo(1, 4);
    mbf(0, 'golden', 'remove', name);
  });

  it('accepts a run that did not finish only with the option', () => {
    expect(refuse(2, 'golden', 'add', 'dead', '--name', 'dead')).toMatch(/out of memory/);
    mbf(0, 'golden', 'add', 'dead', '--name', 'dead', '--force');
    expect(list().goldens.find(({ name }) => name === 'dead')!.ending).toBe('oom');
    mbf(0, 'golden', 'remove', 'dead');
  });

  it.each([
    [['golden', 'show', 'bse'], 2, 'MBF1009'],
    [['golden', 'remove', 'bse'], 2, 'MBF1009'],
    [['golden', 'add', 'first', '--name', 'golden:x'], 2, 'MBF1001'],
    [['golden', 'add', 'first', '--name', ''], 2, 'MBF1001'],
    [['golden', 'import', 'nowhere.json'], 2, 'MBF1003'],
    [['golden', 'import', 'broken.json'], 4, 'MBF2801'],
    [['golden', 'import', 'other.json'], 4, 'MBF2801'],
    [['golden', 'import', 'empty.json'], 2, 'MBF1009'],
    [['golden', 'export', 'x.json', '--name', 'base', '--as', 'yaml'], 2, 'MBF1001'],
    [['golden', 'export', 'no/such/place.json', '--name', 'base'], 5, 'MBF3006'],
  ] as const)('%j ends with %i and %s', (args, status, code) => {
    writeFileSync(join(cwd, 'broken.json'), '{"lm loss": {"start_step": 1, ');
    writeFileSync(join(cwd, 'other.json'), '{"traceEvents": []}');
    writeFileSync(join(cwd, 'empty.json'), '{}');
    expect(refuse(status, ...args)).toContain(code);
  });
});
