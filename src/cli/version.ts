/** The version of this package, from its manifest, which is one level higher for sources than for built files. */
import { readFileSync } from 'node:fs';

/**
 * Not by way of `src/store/`, which finds its files alike: it brings the database library, which takes three times as
 * long to load as all of this.
 */
export function version(): string {
  for (let directory = new URL('.', import.meta.url); ; directory = new URL('..', directory)) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', directory), 'utf8'));
      const { name, version: found } = manifest as { readonly name?: unknown; readonly version?: unknown };
      if (name === 'mbforensics' && typeof found === 'string') return found;
    } catch {
      // No package.json here, or a stranger's.
    }
    if (directory.pathname === '/') throw new Error('the manifest of mbforensics was not found');
  }
}
