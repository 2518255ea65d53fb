import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { MODULE } from '../../src/wasm/module.gen.js';
import { repoRoot } from '../store/scratch.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('the module that is shipped is made of its sources, wherever they are', async () => {
  const { compileModule } = (await import(pathToFileURL(join(repoRoot, '.ci', 'compile-module.mjs')).href)) as {
    compileModule(root: string, scratch: string): Buffer;
  };
  const copy = temporaryDirectory();
  const assembly = join('src', 'wasm', 'assembly');
  mkdirSync(join(copy, assembly), { recursive: true });
  cpSync(join(repoRoot, assembly), join(copy, assembly), { recursive: true });
  symlinkSync(join(repoRoot, 'node_modules'), join(copy, 'node_modules'));
  for (const root of [repoRoot, copy])
    expect(compileModule(root, join(copy, 'scratch')).toString('base64'), root).toBe(MODULE);
});
