/**
 * `--markdown` of `diagnose`, `advise`, `log`, `peak` and `diff`: what GitHub renders as tables, whatever texts are in
 * it, with the figures of the screen.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AdviseResult } from '../../src/model/results/advise.js';
import type { DiagnoseResult, PeakResult } from '../../src/model/results/common.js';
import type { DiffResult } from '../../src/model/results/diff.js';
import type { LogResult } from '../../src/model/results/log.js';
import { diffDocument } from '../../src/report/compare/diff-document.js';
import { peakDocument } from '../../src/report/moment/peak-document.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentMarkdown } from '../../src/report/render/markdown.js';
import { logDocument } from '../../src/report/run/log-document.js';
import { adviseDocument } from '../../src/report/start/advise-document.js';
import { asker } from '../support/ask.js';
import { HOSTILE } from '../support/compare-results.js';
import { CORPUS, SNAPSHOTS, skipLoudly, snapshotPickles } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { diagnoseMarkdown } from '../support/screen.js';
import { expectSoundMarkdown } from '../support/sound-markdown.js';
import { samplePath } from '../support/stores.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');
const CAPACITY = samplePath('capacity');
const PASTE = ['sbatch', 'megatron_bridge', 'megatron_lm', 'nemo', 'trainer', 'python'] as const;

const { cli, cwd, options, text: screenOf, json: answer } = asker();
const markdown = (...args: string[]): string => screenOf(...args, '--markdown', '-');
const diffArguments = ['diff', SAMPLE, SAMPLE, '--at-a', 'start', '--at-b', 'oom'];

/** Fields with words of ours. */
const WORDS = new Set(
  (
    'schema cause detail confidence status saving_by cost_by grade confirmation component ' +
    'by basis rule match segment_type unit origin ending last_phase moment paste_forms'
  ).split(' '),
);

/** The same result with signs of Markdown, HTML, line breaks and control characters in every text. */
function hostile<Value>(value: Value, key = ''): Value {
  if (typeof value === 'string') return (WORDS.has(key) ? value : `${value.slice(0, 12)}${HOSTILE}`) as Value;
  if (Array.isArray(value)) return value.map((each) => hostile(each as unknown, key)) as Value;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, hostile(each as unknown, name)]),
  ) as Value;
}

/** Of the text outside of fences: the rows of tables. */
const rowsOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('| '));

describe('--markdown', () => {
  it('of diagnose has the first screen: fix, account, sites, and all evidence folded', () => {
    for (const sample of [SAMPLE, CAPACITY]) {
      const diagnosis = answer<DiagnoseResult>('diagnose', sample);
      const text = markdown(sample);
      expectSoundMarkdown(text);
      expect(diagnoseMarkdown(diagnosis)).toBe(text);
      const screen = screenOf(sample);
      const [verdict] = diagnosis.verdicts;
      expect(text.startsWith(`## OOM · run ${diagnosis.run}`)).toBe(true);
      const pasted = /^FIX +((?:export |cfg\.).*)$/m.exec(screen)?.[1];
      if (pasted !== undefined) expect(text.split('\n')).toContain(pasted);
      // Each summand of the bar, and each site, is a row with its figure.
      const figures = (column: number): string[] => rowsOf(text).map((row) => row.split(' | ')[column] ?? '');
      for (const [, size] of screen.matchAll(/ (\d+\.\d\d GiB) {2}\S+ \S+:\d+/g))
        expect(figures(0)).toContain(`| ${size}`);
      const sum = (verdict!.accounting_total!.bytes / 2 ** 30).toFixed(2);
      expect(figures(1)).toContain(`${sum} GiB |`);
      expect(text).toContain('<details><summary>All evidence</summary>');
      expectSoundMarkdown(diagnoseMarkdown(hostile(diagnosis)));
    }
    expectSoundMarkdown(markdown('diagnose', SAMPLE, CAPACITY, '--each'));
  });

  it('of advise has the fixes in order and the lines to paste', () => {
    const advice = answer<AdviseResult>('advise', SAMPLE);
    const text = markdown('advise', SAMPLE);
    expectSoundMarkdown(text);
    const open = advice.fixes.filter(({ status }) => status !== 'forbidden');
    const ids = rowsOf(text).flatMap((row) => /^\| <code>([^<]*)<\/code> \|/.exec(row)?.[1] ?? []);
    expect(ids).toEqual(open.map(({ id }) => id));
    for (const line of advice.plan!.paste.sbatch) expect(text.split('\n').map((each) => each.trim())).toContain(line);
    const page = markdown('advise', SAMPLE, '--fix', open[0]!.id, '--paste', 'megatron-lm');
    expectSoundMarkdown(page);
    expect(page.startsWith(`## Fix <code>${open[0]!.id}</code>: recommended\n`)).toBe(true);
    const fouled = hostile(advice);
    for (const fix of [undefined, fouled.fixes[0]!.id])
      expectSoundMarkdown(documentMarkdown(adviseDocument(fouled, { paste: PASTE, fix })));
  });

  it('of log has the facts and failures of the screen', () => {
    for (const sample of [SAMPLE, CAPACITY]) {
      const text = markdown('log', sample);
      const log = answer<LogResult>('log', sample);
      expectSoundMarkdown(text);
      expect(documentMarkdown(logDocument(log))).toBe(text);
      const screen = screenOf('log', sample);
      expect(text).toContain(/\d+\.\d+ TFLOP\/s\/GPU/.exec(screen)?.[0] ?? '## run ');
      expectSoundMarkdown(documentMarkdown(logDocument(hostile(log))));
    }
  });

  it('of peak has groups that add up, and whole stacks', () => {
    for (const by of sampled(['site', 'stream', 'pool'], 2)) {
      const peak = answer<PeakResult>('peak', SAMPLE, '--by', by, '--limit', '3', '--grouping', 'bridge');
      const text = markdown('peak', SAMPLE, '--by', by, '--limit', '3', '--grouping', 'bridge');
      expectSoundMarkdown(text);
      const look = { isWhole: false };
      expect(documentMarkdown(peakDocument(peak, look))).toBe(text);
      const [device] = peak.snapshots[0]!.devices;
      const more = device!.other_groups.groups > 0 ? 1 : 0;
      const [groups = ''] = text.split('As Megatron Bridge');
      expect(rowsOf(groups)).toHaveLength(2 + device!.groups.length + more);
      if (by === 'site') expect(text).toContain(`\`\`\`text\n${device!.stacks[0]!.frames[0]}\n`);
      expectSoundMarkdown(documentMarkdown(peakDocument(hostile(peak), look)));
    }
  });

  it('of diff has totals and sites of the screen', () => {
    const diff = answer<DiffResult>(...diffArguments);
    const text = markdown(...diffArguments);
    expectSoundMarkdown(text);
    expect(documentMarkdown(diffDocument(diff))).toBe(text);
    const changed = diff.sites.filter(({ delta_bytes }) => delta_bytes !== 0);
    expect(changed.length).toBeGreaterThan(0);
    expect(rowsOf(text).filter((row) => row.includes('<code>')).length).toBeGreaterThanOrEqual(changed.length);
    expectSoundMarkdown(documentMarkdown(diffDocument(hostile(diff))));
    documentJson(diffDocument(hostile(diff)));
    const gated = markdown('diff', SAMPLE, SAMPLE, '--at-a', 'oom', '--at-b', 'start', '--max-growth', '1MiB');
    expect(gated).toMatch(/^growth \+\S+ GiB: \*\*more than\*\* the 1\.00 MiB allowed$/m);
    expectSoundMarkdown(markdown('diff', SAMPLE, CAPACITY));
  });

  it('to a file leaves the screen as it is', () => {
    const questions = [['advise', SAMPLE], ['log', SAMPLE], ['peak', SAMPLE], diffArguments];
    for (const args of sampled(questions, 2)) {
      const file = join(cwd, `${args[0]}.md`);
      expect(screenOf(...args, '--markdown', file)).toBe(screenOf(...args));
      expect(readFileSync(file, 'utf8')).toBe(markdown(...args));
    }
  });

  const pickles = sampled(snapshotPickles(), 20);
  if (pickles.length === 0) skipLoudly('Markdown of the corpus', 'MBF_CORPUS');
  else
    it('of the corpus is sound', () => {
      const names = readdirSync(join(CORPUS, 'logs')).filter((name) => !name.endsWith('.json'));
      const logs = sampled(names, 8);
      let read = 0;
      const questions = [
        ...pickles.map((name) => ['peak', join(SNAPSHOTS, name)]),
        ...logs.flatMap((name) => ['log', 'advise'].map((verb) => [verb, join(CORPUS, 'logs', name)])),
      ];
      for (const args of questions) {
        const { status, stdout } = cli.run([...args, '--markdown', '-'], options);
        if (status !== 0) continue;
        expectSoundMarkdown(stdout);
        read += 1;
      }
      expect(read).toBeGreaterThan(1);
    });
});
