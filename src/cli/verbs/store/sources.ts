import { pick } from '../../../model/pick.js';
import type { SourcesResult } from '../../../model/results/common.js';
import { sourcesDocument } from '../../../report/store/lists-document.js';
import { defineVerb } from '../../define-verb.js';
import { operand } from '../../options.js';
import { storedFailure } from '../../path-store.js';

export const verb = defineVerb({
  name: 'sources',
  operands: { path: operand('[path]', 'the files of a path instead of the store') },
  async ask({ path }, session): Promise<SourcesResult> {
    const { store } = await session.store(path);
    const rows = await store.all('store.sources', { run_id: null });
    const sources = rows.map((row) => ({
      run: row.run,
      path: row.display_path,
      ...pick(row, ['format', 'status', 'file_bytes', 'rank', 'rank_origin', 'sha256', 'notes']),
      error: row.error_code === null ? null : storedFailure(row.error_code, row.error_text),
    }));
    return { schema: 'mbforensics/sources@1', db: path ?? session.db, sources };
  },
  document: sourcesDocument,
});
