/** The files of a checked-out tree that a program can read, its submodule's among them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE } from './run-program.js';

const READ = /\.(?:py|yaml|env)$/;
const ROOTS = ['src/', 'scripts/', 'examples/', CORE];

export function readTree(directory: string): Map<string, string> {
  const files = new Map<string, string>();
  const walk = (path: string): void => {
    for (const entry of readdirSync(join(directory, path), { withFileTypes: true })) {
      if (entry.isDirectory()) walk(`${path}${entry.name}/`);
      else if (READ.test(entry.name))
        files.set(path + entry.name, readFileSync(join(directory, path, entry.name), 'utf8'));
    }
  };
  for (const root of ROOTS) if (existsSync(join(directory, root))) walk(root);
  return files;
}
