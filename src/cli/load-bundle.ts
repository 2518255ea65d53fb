/**
 * Runs the files of the bundle with the code that V8 compiled of them in the build: to compile it anew takes a third of
 * the time of a question about a small file. Only CommonJS can be given such code before Node 22. V8 refuses that of
 * another version of itself or of other flags, and compiles then. It accepts that of another processor: on arm64, code
 * of x64 ended the process with SIGSEGV. The name of the file has the platform for that reason.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

interface Module {
  exports: unknown;
}

/** Newest Node known to have this option: V8 prints an error without it. */
const NEWEST_KNOWN = 24;

// Most code of an answer runs once. V8 now optimises 15 times later than by default: a tenth less time for a small run,
// no difference for a large one.
if (Number.parseInt(process.versions.node, 10) <= NEWEST_KNOWN) setFlagsFromString('--interrupt-budget=1000000');

const FOLDER = fileURLToPath(new URL('../bundle/', import.meta.url));
const requireInstalled = createRequire(FOLDER);
const modules = new Map<string, Module>();

/** Of the files that were run, by their paths; the build keeps their code. */
export const scripts = new Map<string, Script>();

/** What a file of the bundle exports, or, without `./`, an installed package or a module of Node. */
export function loadBundled(id: string): unknown {
  if (!id.startsWith('./')) return requireInstalled(id);
  const known = modules.get(id);
  if (known !== undefined) return known.exports;
  const file = join(FOLDER, id);
  const script = new Script(`(function (exports, require, module, __filename) {${readFileSync(file, 'utf8')}\n})`, {
    filename: file,
    cachedData: codeOf(file),
    importModuleDynamically: (name) => import(name),
  });
  scripts.set(file, script);
  const module: Module = { exports: {} };
  modules.set(id, module);
  (script.runInThisContext() as (...args: unknown[]) => void)(module.exports, loadBundled, module, file);
  return module.exports;
}

/** Where the build keeps the code of a file. */
export const codePath = (file: string): string => `${file}.${process.platform}-${process.arch}.code`;

function codeOf(file: string): Buffer | undefined {
  try {
    return readFileSync(codePath(file));
  } catch {
    return undefined;
  }
}
