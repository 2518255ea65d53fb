import { basename } from 'node:path';
import { loadLogFormats, loadScalarNames, PARSERS } from '../../../../parsers/index.js';
import type { ExplainResult, FormatsResult } from '../../../model/results/format.js';
import { explainText, formatsText } from '../../../report/knowledge/formats-text.js';
import { defineVerb } from '../../define-verb.js';
import { count, operand, option } from '../../options.js';
import type { Session } from '../../session.js';
import { openTextInput } from '../../text-input.js';

async function explainFile(file: string, limit: number, session: Session): Promise<ExplainResult> {
  const { explainLog } = await loadLogFormats();
  const { source, name } = session.keep(await openTextInput(file));
  return explainLog(source, basename(name), limit);
}

export const verb = defineVerb({
  name: 'formats',
  storeless: true,
  operands: {
    file: operand('[file]', 'a text log: which formats read it; - for standard input; default: all formats'),
  },
  options: { limit: option('--limit <n>', 'shapes of unread lines to list; 0 = all', count, '20') },
  examples: ['explain formats', 'explain formats log-allranks_0.out'],
  async ask({ file, limit }, session): Promise<FormatsResult | ExplainResult> {
    if (file !== undefined) return explainFile(file, limit, session);
    const { listFormats } = await loadLogFormats();
    const { listScalarNames } = await loadScalarNames();
    return {
      schema: 'mbforensics/formats@1',
      files: PARSERS.map(({ id, title }) => ({ id, title })),
      scalars: listScalarNames(),
      formats: listFormats(),
    };
  },
  render: (result) => ('scalars' in result ? formatsText(result) : explainText(result)),
});
