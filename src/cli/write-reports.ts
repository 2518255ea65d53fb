/** Renderings of a result that a verb writes beside its answer: `--markdown`, `--junit`, `--sarif`. */
import { join } from 'node:path';
import type { Context } from './context.js';
import { placeOf, putInPlace, withWorkDirectory, writeTextFile } from './output-file.js';

/** Each file is replaced whole, as a job that is run again does; `-` is standard output. */
export async function writeReport(file: string | undefined, text: () => string, context: Context): Promise<void> {
  if (file === undefined) return;
  if (file === '-') {
    context.out(text());
    return;
  }
  const { parent, name } = placeOf(file);
  await withWorkDirectory(parent, file, async (directory) => {
    const work = join(directory, name);
    await writeTextFile(work, file, (sink) => sink.write(text()));
    putInPlace(work, file, true);
  });
}
