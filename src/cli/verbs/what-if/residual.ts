import { MOMENT_FORMS, parseMoment } from '../../../derive/trace/moment.js';
import { describeResidual } from '../../../findings/estimate/residual/describe-residual.js';
import { residualDocument } from '../../../report/what-if/residual-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { option, SNAPSHOT } from '../../options.js';
import { readRules } from '../../rules-file.js';

export const verb = defineVerb({
  name: 'residual',
  operands: { snapshot: SNAPSHOT },
  options: {
    moment: option('--at <moment>', `the moment: ${MOMENT_FORMS}`, parseMoment, 'peak'),
    rules: option('--rules <file>', 'attribution rules of your own (YAML)'),
  },
  async ask({ snapshot, moment, rules: file }, session) {
    const rules = await readRules(file);
    const { store, runId, run, handle } = await session.snapshots(snapshot);
    return worded(await describeResidual(store, runId, run, { moment, rules, handle }));
  },
  document: residualDocument,
});
