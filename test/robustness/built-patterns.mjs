/**
 * Prints the regular expressions that the modules of dist/ build with `new RegExp` while they load, as JSON: those of
 * the failure grammar and of all data files included.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = process.argv[2];
const built = new Map();
globalThis.RegExp = new Proxy(RegExp, {
  construct(target, args, newTarget) {
    const pattern = Reflect.construct(target, args, newTarget);
    built.set(String(pattern), { source: pattern.source, flags: pattern.flags });
    return pattern;
  },
});
/** They start something when they load, or belong to the browser. */
const NOT_LOADED = /cli\/main\.js$|-thread\.js$|background-hash|report\/page\//;
for (const folder of ['parsers', 'src']) {
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    const path = join(root, folder, name);
    if (path.endsWith('.js') && !NOT_LOADED.test(path)) await import(pathToFileURL(path).href);
  }
}
process.stdout.write(JSON.stringify([...built.values()]));
