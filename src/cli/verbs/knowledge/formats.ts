import { basename } from 'node:path';
import { loadLogFormats, loadScalarNames, PARSERS } from '../../../../parsers/index.js';
import type { FormatsExplainResult, FormatsResult } from '../../../model/results/format.js';
import { explainText, formatsText } from '../../../report/knowledge/formats-text.js';
import { defineVerb } from '../../define-verb.js';
import { readFormats } from '../../formats-file.js';
import { count, operand, option } from '../../options.js';
import { openTextInput } from '../../text-input.js';
import { EXAMPLE_FORMATS } from './example-formats.js';

export const verb = defineVerb({
  name: 'formats',
  storeless: true,
  operands: {
    file: operand('[file]', 'a text log: which formats read it; - for standard input; default: all formats'),
  },
  options: {
    limit: option('--limit <n>', 'shapes of unread lines to list; 0 = all', count, '20'),
    formats: option('--formats <file>', 'formats of your own (YAML), in addition'),
  },
  notes: `A file of formats, for --formats of every verb that reads paths, or MBF_FORMATS:
${EXAMPLE_FORMATS.replace(/^/gm, '  ').trimEnd()}

parsers/log/FORMAT.md describes all keys and rows.`,
  examples: ['explain formats', 'explain formats log-allranks_0.out', 'explain formats train.log --formats ours.yaml'],
  async ask({ file, limit, formats }, session): Promise<FormatsResult | FormatsExplainResult> {
    const checked = await readFormats(formats, session.context);
    const { explainLog, listFormats, vocabularyWith } = await loadLogFormats();
    if (file !== undefined) {
      const { source, name } = session.keep(await openTextInput(file));
      return explainLog(source, basename(name), limit, vocabularyWith(checked));
    }
    const { listScalarNames } = await loadScalarNames();
    return {
      schema: 'mbforensics/formats@1',
      files: PARSERS.map(({ id, title }) => ({ id, title })),
      scalars: listScalarNames(),
      formats: listFormats(checked),
    };
  },
  render: (result) => ('scalars' in result ? formatsText(result) : explainText(result)),
});
