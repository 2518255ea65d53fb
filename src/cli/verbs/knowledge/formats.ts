import { basename } from 'node:path';
import { loadLogFormats, loadScalarNames, PARSERS } from '../../../../parsers/index.js';
import type { FormatsExplainResult, FormatsResult } from '../../../model/results/format.js';
import { formatsDocument, formatsOfFileDocument } from '../../../report/knowledge/formats-document.js';
import { defineVerb } from '../../define-verb.js';
import { readFormats } from '../../formats-file.js';
import { count, operand, option } from '../../options.js';
import { openTextInput } from '../../text-input.js';

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
  document: (result) => ('scalars' in result ? formatsDocument(result) : formatsOfFileDocument(result)),
});
