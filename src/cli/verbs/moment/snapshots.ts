import { describeSeries } from '../../../findings/snapshots/describe-series.js';
import { snapshotSeriesDocument } from '../../../report/moment/snapshot-series-document.js';
import { defineVerb } from '../../define-verb.js';
import { count, operand, option } from '../../options.js';
import { demandSnapshots } from '../../session.js';

export const verb = defineVerb({
  name: 'snapshots',
  operands: {
    run: operand('[run]', 'a run, a path, or the handle of one snapshot of a series; default: the run ingested last'),
  },
  options: { sites: option('--sites <n>', 'call sites that grew, a series; 0 = all that changed', count, '3') },
  async ask({ run: operand, sites }, session) {
    const { store, runId, run, handle } = await session.snapshots(operand);
    const result = await describeSeries(store, { runId, run, handle, sites });
    demandSnapshots(run, result.series);
    return result;
  },
  document: snapshotSeriesDocument,
});
