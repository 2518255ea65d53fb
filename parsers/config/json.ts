import { MbfError } from '../../src/model/errors.js';
import { readLiteralAt } from '../../src/model/literal.js';
import type { TreeNote, Trees } from '../../src/text/plain-yaml.js';

/**
 * Reads one JSON value (trailing commas and comments at line starts tolerated, as DeepSpeed users write them), and
 * notes what does not fit.
 */
export function readJson(source: string): Trees {
  // Comments are blanked, not removed, so that places stay.
  const text = source.replace(/^[ \t]{0,64}\/\/.{0,2000}$/gm, (comment) => ' '.repeat(comment.length));
  const start = text.search(/[[{]/);
  if (start < 0) throw new MbfError('MBF2202', 'is not valid JSON: expected an object or a list');
  const { value, fault } = readLiteralAt(text, start);
  const notes: TreeNote[] = [];
  if (fault !== null) {
    if (fault.what.startsWith('nested deeper')) throw new MbfError('MBF2201', fault.what);
    notes.push({ kind: 'json_error', text: `Not valid JSON: ${fault.what}.`, at: fault.at });
  }
  return { trees: [value], notes };
}
