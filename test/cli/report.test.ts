/** `report` as a command: what it writes and prints, and what it refuses. Its pages are in `test/picture`. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ReportSummary } from '../../src/model/results/report.js';
import { repoRoot } from '../store/scratch.js';
import { asker } from '../support/ask.js';
import { samplePath } from '../support/stores.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');

describe('report', () => {
  const { cli, cwd: directory, options, mbf, ends, json, put } = asker();

  it('writes report.html, and prints the first screen with the file', () => {
    const { stdout } = mbf('report', SAMPLE);
    expect(stdout).toContain('VERDICT  fragmentation');
    expect(stdout).toMatch(/^PICTURE {2}report\.html \(\d+\.\d\d KiB, 1 device drawn\)$/m);
    expect(stdout).not.toContain('mbforensics report');
    const page = readFileSync(join(directory, 'report.html'), 'utf8');
    expect(page.startsWith('<!doctype html>')).toBe(true);
    expect(page).toContain('default-src &#39;none&#39;');
    // Nothing points outside the page.
    expect(page.slice(0, page.indexOf('<script')).match(/(?:src|href)="(?!#|data:,")[^"]*"/g)).toBeNull();
  });

  it('is what the picture in docs was made by', () => {
    const summary = json<ReportSummary>('report', SAMPLE, '-o', 'stack.svg');
    expect(summary).toMatchObject({ schema: 'mbforensics/report@1', subject: 'run', file: 'stack.svg' });
    expect(summary.devices).toEqual([
      { handle: 'llama3-70b-fragmentation/0/snapshot#1', device: 0, entries: 24_000, blocks: 8775, blocks_left_out: 0 },
    ]);
    const made = readFileSync(join(directory, 'stack.svg'), 'utf8');
    expect(summary.bytes).toBe(Buffer.byteLength(made));
    expect(made).toBe(readFileSync(join(repoRoot, 'docs', 'llama3-70b-fragmentation.svg'), 'utf8'));
  });

  it('opens the page in the browser that the environment names', () => {
    const browser = join(directory, 'browser.sh');
    writeFileSync(
      browser,
      `#!/bin/sh\nprintf %s "$1" > '${join(directory, 'opened')}.tmp' && mv '${join(directory, 'opened')}.tmp' '${join(directory, 'opened')}'\n`,
    );
    chmodSync(browser, 0o755);
    const env = { ...options.env, BROWSER: browser };
    cli.expect(0, ['report', SAMPLE, '-o', 'open.html', '--open'], { ...options, env });
    for (let i = 0; i < 100 && !existsSync(join(directory, 'opened')); i += 1)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    expect(readFileSync(join(directory, 'opened'), 'utf8')).toBe(join(directory, 'open.html'));
  });

  it('refuses what it cannot do, with a remedy', () => {
    const log = put('only.log', 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n');
    const refused = [
      [['report', log, '-o', 'x.svg'], 'MBF1002'],
      [['report', SAMPLE, '-o', '-', '--json=full'], 'MBF1001'],
      [['report', SAMPLE, log, '--baseline', SAMPLE], 'MBF1001'],
      [['report', join(directory, 'missing')], 'MBF1003'],
    ] as const;
    for (const [args, code] of refused) {
      const answer = ends(2, ...args);
      expect(`${answer.stdout}${answer.stderr}`, args.join(' ')).toContain(code);
    }
    expect(existsSync(join(directory, 'x.svg'))).toBe(false);
    const { stderr } = cli.run(['report', log, '-o', directory], options);
    expect(stderr).toContain('MBF3006');
  });

  it('writes the page to standard output', () => {
    const { stdout } = mbf('report', SAMPLE, '-o', '-');
    expect(stdout.startsWith('<!doctype html>')).toBe(true);
    expect(stdout.trimEnd().endsWith('</html>')).toBe(true);
  });
});
