/**
 * Plants an error in the tool under test: run Node with `--import` of this file and `MBF_TEST_THROW=<end of a module's
 * path>:<function>`. The function then throws when it is called; with `:import` the module itself does. The tool knows
 * nothing of it.
 */
import { register } from 'node:module';

const hooks = `
const [path, name] = ${JSON.stringify(process.env.MBF_TEST_THROW ?? ':')}.split(':');
// The bundle has no modules to plant in: the program runs from those that it was made of.
export async function resolve(specifier, context, next) {
  return next(specifier.replace(/\\/bundle\\/(?=program\\.js$)/, '/cli/'), context);
}
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (path === '' || !url.endsWith(path)) return loaded;
  const source = String(loaded.source);
  const planted = "throw new Error('planted');";
  if (name === 'import') return { ...loaded, source: planted };
  const changed = source.replace(new RegExp('(export (?:async )?function ' + name + '\\\\([^]*?\\\\) \\\\{\\\\n)'), (all) => all + planted);
  if (changed === source) throw new Error('nothing to plant in ' + url);
  return { ...loaded, source: changed };
}
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
