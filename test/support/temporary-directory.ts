import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Made at once, and removed when the tests of the enclosing suite or file end. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'mbf-test-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
