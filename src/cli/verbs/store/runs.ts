import { pick } from '../../../model/pick.js';
import type { RunsResult } from '../../../model/results/common.js';
import { runsDocument } from '../../../report/store/lists-document.js';
import { defineVerb } from '../../define-verb.js';
import { operand } from '../../options.js';

export const verb = defineVerb({
  name: 'runs',
  lakeless: true,
  operands: { path: operand('[path]', 'the runs of a path instead of the store') },
  async ask({ path }, session): Promise<RunsResult> {
    const { store } = await session.store(path);
    const rows = await store.all('store.runs', { run_id: null });
    const runs = rows.map((row) => ({
      name: row.name,
      label: row.label,
      commit: row.commit_sha,
      path: row.root_path,
      ...pick(row, ['created_at', 'sources', 'failed', 'snapshots', 'incidents']),
    }));
    return { schema: 'mbforensics/runs@1', db: path ?? session.db, runs };
  },
  document: runsDocument,
});
