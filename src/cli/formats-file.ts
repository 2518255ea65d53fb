/** `--formats FILE`, else `MBF_FORMATS`. */
import { loadLogFormats } from '../../parsers/index.js';
import type { Context } from './context.js';
import { readTextFile } from './text-input.js';

/** The formats of the file, checked with their samples, as readers of logs take them; undefined without a file. */
export async function readFormats(file: string | undefined, { env }: Context): Promise<string | undefined> {
  const named = file ?? env['MBF_FORMATS'];
  if (!named) return undefined;
  const { parseFormats } = await loadLogFormats();
  return parseFormats(await readTextFile(named), named);
}
