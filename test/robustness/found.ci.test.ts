/** What fuzzing has found stays closed: each input of `found/` again, with all that `npm run fuzz` asks of one. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repoRoot, sharedBuild } from '../store/scratch.js';
import { runs, SEED } from '../support/level.js';

const CASES = join(repoRoot, 'test', 'robustness', 'found');
const directory = mkdtempSync(join(tmpdir(), 'mbf-found-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function fuzz(...args: string[]): Promise<Result> {
  const child = spawn(process.execPath, [join(sharedBuild(), 'test', 'fuzz', 'main.js'), ...args], {
    // A store and a repository are made there.
    env: { ...process.env, TMPDIR: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

describe('inputs that fuzzing has found', () => {
  const files = readdirSync(CASES).filter((name) => name !== 'index.jsonl');
  let result: Result;
  beforeAll(async () => {
    result = await fuzz('--cases', CASES);
  });

  it('all have a line in the index', () => {
    const lines = readFileSync(join(CASES, 'index.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { file: string }).file).sort()).toEqual(files.sort());
  });

  it.each(files)('%s', (file) => {
    const line = result.stderr.split('\n').find((text) => text.startsWith(`${join(CASES, file)}: `));
    expect(line, result.stderr).toBe(`${join(CASES, file)}: ok`);
  });
});

it('a short campaign of every format: nothing', async () => {
  const inputs = runs(76, 300);
  const args = ['--inputs', `${inputs}`, '--seed', `${SEED}`, '--jobs', '2', '--program', `${runs(5, 10)}`];
  args.push('--found', join(directory, 'found'));
  const { code, stdout, stderr } = await fuzz(...args);
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect(stdout).toMatch(new RegExp(`^inputs: ${inputs} in`, 'm'));
});
