import { basename } from 'node:path';
import { loadLogFormats, loadScalarNames, PARSERS } from '../../../../parsers/index.js';
import type { FormatsResult } from '../../../model/results/format.js';
import { explainText, formatsText } from '../../../report/knowledge/formats-text.js';
import { defineVerb } from '../../define-verb.js';
import { count, operand, option } from '../../options.js';
import { openTextInput } from '../../text-input.js';

const explain = defineVerb({
  name: 'explain',
  summary: 'which formats read a file, how often, and which lines with figures none of them read',
  storeless: true,
  operands: { file: operand('<file>', 'a text log, compressed or not; - for standard input') },
  options: { limit: option('--limit <n>', 'shapes of unread lines to list; 0 = all', count, '20') },
  examples: ['formats explain log-allranks_0.out'],
  async ask({ file, limit }, session) {
    const { explainLog } = await loadLogFormats();
    const { source, name } = session.keep(await openTextInput(file));
    return explainLog(source, basename(name), limit);
  },
  render: explainText,
});

export const verb = defineVerb({
  name: 'formats',
  storeless: true,
  examples: ['formats', 'formats explain log-allranks_0.out'],
  async ask(): Promise<FormatsResult> {
    const { listFormats } = await loadLogFormats();
    const { listScalarNames } = await loadScalarNames();
    return {
      schema: 'mbforensics/formats@1',
      files: PARSERS.map(({ id, title }) => ({ id, title })),
      scalars: listScalarNames(),
      formats: listFormats(),
    };
  },
  render: formatsText,
  verbs: [explain],
});
