// Compiles src/wasm/assembly to WebAssembly. The same sources give the same bytes wherever they are.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The module of the sources under `root`; `scratch` is a folder to write it to. */
export function compileModule(root, scratch) {
  mkdirSync(scratch, { recursive: true });
  const file = join(scratch, 'module.wasm');
  const asc = join(root, 'node_modules', 'assemblyscript', 'bin', 'asc.js');
  const sizes = ['-O3', '--converge', '--enable', 'simd', '--runtime', 'minimal', '--exportRuntime'];
  // Without `abort`, a failed check is a trap.
  execFileSync(process.execPath, [asc, 'src/wasm/assembly/index.ts', ...sizes, '--use', 'abort=', '--outFile', file], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return readFileSync(file);
}
