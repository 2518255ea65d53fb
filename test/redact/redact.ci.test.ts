/** A copy without names: nothing that was planted is left, and the diagnosis is that of the original. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RedactResult } from '../../src/model/results/redact.js';
import { buildCli, type Cli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { PLANTED, writePlantedRun } from './planted-run.js';

const ALL = Object.values(PLANTED).flat();

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(directory, name)).isFile())
    .sort();
}

/** A file's bytes as one may search them: as they are, unpacked, with base64 decoded, as UTF-16. */
function formsOf(bytes: Buffer): string[] {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  const text = plain.toString('latin1');
  const coded = (text.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? []).map((run) =>
    Buffer.from(run, 'base64').toString('latin1'),
  );
  return [bytes.toString('latin1'), text, decodeURIComponentSafe(text), plain.toString('utf16le'), ...coded];
}

const decodeURIComponentSafe = (text: string): string =>
  text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** What was planted and is still there, with where. */
function leftIn(directory: string): string[] {
  const left: string[] = [];
  for (const name of filesBelow(directory)) {
    const forms = [name, ...formsOf(readFileSync(join(directory, name)))].map((form) => form.toLowerCase());
    for (const planted of ALL)
      if (forms.some((form) => form.includes(planted.toLowerCase()))) left.push(`${planted} in ${name}`);
  }
  return left;
}

describe('redact', () => {
  const directory = temporaryDirectory();
  const run = join(directory, 'run');
  const bundle = join(directory, 'bundle');
  let cli: Cli;
  let result: RedactResult;
  beforeAll(() => {
    cli = buildCli();
    writePlantedRun(run);
    result = cli.expect(0, ['export', 'redact', run, '-o', bundle, '--json=full']).json<RedactResult>();
  });

  it('leaves no planted name in any file', () => {
    expect(leftIn(run).length).toBeGreaterThan(100);
    expect(leftIn(bundle)).toEqual([]);
  });

  it('rewrites all formats, and nothing looks like a name afterwards', () => {
    expect(result.report.left_out).toEqual([]);
    expect(result.report.files).toHaveLength(filesBelow(run).length);
    expect(result.report.suspicious).toEqual([]);
    cli.expect(0, ['export', 'redact', bundle, '--check']);
    const { stdout } = cli.expect(1, ['export', 'redact', run, '--check']);
    expect(stdout).toContain('zorblatt');
  });

  it('gives the diagnosis of the original, except names', () => {
    expect(result.differences).toEqual([]);
    expect(result.report.diagnosis).toBe('equal');
  });

  it('keeps every length', () => {
    const sizes = (of: string): number[] =>
      filesBelow(of)
        .filter((name) => !name.endsWith('redaction-report.json'))
        .map((name) => {
          const bytes = readFileSync(join(of, name));
          return name.endsWith('.gz') ? gunzipSync(bytes).length : bytes.length;
        })
        .sort((a, b) => a - b);
    expect(sizes(bundle)).toEqual(sizes(run));
  });

  it('keeps the key and the names outside, for its owner alone', () => {
    const file = `${bundle}-names.json`;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { key, names } = JSON.parse(readFileSync(file, 'utf8')) as { key: string; names: Record<string, string> };
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.values(names)).toContain('zorblatt');
    for (const secret of PLANTED.secret) expect(JSON.stringify(names)).not.toContain(secret);
  });

  it('gives the same names with the same key, and others with another', () => {
    const again = join(directory, 'again');
    cli.expect(0, ['export', 'redact', run, '-o', again, '--key', `${bundle}-names.json`]);
    expect(filesBelow(again)).toEqual(filesBelow(bundle));
    for (const name of filesBelow(again).filter((each) => !each.endsWith('.gz')))
      expect(readFileSync(join(again, name)).equals(readFileSync(join(bundle, name))), name).toBe(true);
    const unlike = join(directory, 'unlike');
    cli.expect(0, ['export', 'redact', run, '-o', unlike]);
    expect(filesBelow(unlike)).not.toEqual(filesBelow(bundle));
  });

  it('changes nothing in what it has redacted', () => {
    const twice = join(directory, 'twice');
    cli.expect(0, ['export', 'redact', bundle, '-o', twice]);
    for (const name of filesBelow(bundle).filter((each) => !/redaction-report|\.gz$/.test(each)))
      expect(readFileSync(join(twice, name)).equals(readFileSync(join(bundle, name))), name).toBe(true);
  });

  it('--redact of other verbs leaves nothing in what they write', () => {
    const page = join(directory, 'page.html');
    const live = join(directory, 'live.svg');
    const rows = join(directory, 'config.csv');
    const answers = [
      cli.expect(0, ['report', run, '--redact', '-o', page]),
      cli.expect(0, ['diagnose', run, '--redact', '--full']),
      cli.expect(0, ['diagnose', run, '--redact', '--markdown', '-']),
      cli.expect(0, ['diagnose', run, '--each', '--redact', '--json=full']),
      cli.expect(0, ['log', run, '--redact', '--json=full']),
      cli.expect(0, ['peak', run, '--redact', '--markdown', '-']),
      cli.expect(0, ['export', join(run, 'snapshot_rank0.pickle'), '--redact', '-o', live, '--raw-frames']),
      cli.expect(0, ['export', run, '--redact', '--table', 'config_value', '-o', rows]),
    ].map(({ stdout }) => stdout);
    const texts = [...answers, readFileSync(live, 'utf8'), readFileSync(rows, 'utf8')];
    const html = readFileSync(page, 'utf8');
    const packed = [...html.matchAll(/[A-Za-z0-9+/]{200,}={0,2}/g)].map(([coded]) => {
      const bytes = Buffer.from(coded, 'base64');
      return bytes[0] === 0x1f ? gunzipSync(bytes).toString('latin1') : '';
    });
    expect(packed.some((text) => text.length > 1000)).toBe(true);
    for (const text of [...texts, html, ...packed])
      for (const planted of ALL) expect(text.toLowerCase().includes(planted.toLowerCase()), planted).toBe(false);
    expect(cli.run(['diagnose', '--redact']).stderr).toContain('MBF1001');
  });

  it('refuses to replace anything, and leaves nothing behind', () => {
    expect(cli.run(['export', 'redact', run, '-o', bundle]).stderr).toContain('MBF1007');
    expect(cli.run(['export', 'redact', run]).stderr).toContain('MBF1001');
    const weak = join(directory, 'weak.key');
    writeFileSync(weak, 'short');
    const answer = cli.run(['export', 'redact', run, '-o', join(directory, 'new'), '--key', weak]);
    expect(answer.status).toBe(2);
    expect(existsSync(join(directory, 'new'))).toBe(false);
    expect(cli.run(['export', 'redact', run, '-o', run, '--force']).stderr).toContain('MBF1007');
  });
});
