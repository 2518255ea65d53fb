/** `--formats FILE`. */
import { loadLogFormats } from '../../parsers/index.js';
import { readTextFile } from './text-input.js';

/** The formats of the file, checked with their samples, as readers of logs take them. */
export async function readFormats(file: string): Promise<string> {
  const { parseFormats } = await loadLogFormats();
  return parseFormats(await readTextFile(file), file);
}
