import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Made at once, removed when the tests of the enclosing suite or file end. Symbolic links of its path are resolved. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'mbf-test-')));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
