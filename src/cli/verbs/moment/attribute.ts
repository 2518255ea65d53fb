import { MOMENT_FORMS, parseMoment } from '../../../derive/trace/moment.js';
import { describeAttribution } from '../../../findings/attribution/views/describe-attribution.js';
import { MbfError } from '../../../model/errors.js';
import { ATTRIBUTE_KEYS } from '../../../model/results/attribute.js';
import { COMPONENTS } from '../../../model/vocabulary.js';
import { attributeDocument } from '../../../report/moment/attribute-document.js';
import { defineVerb } from '../../define-verb.js';
import { choice, countOrAll, ONLY_DEVICE, oneOf, option, percentage, SNAPSHOT } from '../../options.js';
import { readRules } from '../../rules-file.js';
import { readTextFile } from '../../text-input.js';

export const verb = defineVerb({
  name: 'attribute',
  operands: { snapshot: SNAPSHOT },
  options: {
    moment: option('--at <moment>', `the moment: ${MOMENT_FORMS}`, parseMoment, 'peak'),
    by: choice('--by <key>', 'also list by', ATTRIBUTE_KEYS),
    component: option('--component <name>', 'only this component in the list and the listing', oneOf(COMPONENTS)),
    annotate: option('--annotate <file>', 'a source file, listed with the bytes that were live through each line'),
    rules: option('--rules <file>', 'rules of your own (YAML), tried before the built-in ones; see `rules`'),
    share: option('--share <percent>', 'of the bytes that an accumulation point covers', percentage, '50'),
    device: ONLY_DEVICE,
    limit: option('--limit <n>', 'rows of the list; 0 = all', countOrAll, '20'),
  },
  async ask({ snapshot, moment, by, component, annotate, rules, share, device, limit }, session) {
    const question = {
      ...{ moment, by, component, device, limit, share },
      rulesFile: rules ?? null,
      rules: await readRules(rules),
      annotate: annotate === undefined ? undefined : { file: annotate, text: await readTextFile(annotate) },
    };
    const { store, run, filter } = await session.snapshots(snapshot);
    const result = await describeAttribution(store, filter, question);
    if (result.devices.length > 0) return result;
    throw new MbfError(
      'MBF1002',
      device === undefined ? `run ${run} has no memory snapshot` : `none of these snapshots has a device ${device}`,
    );
  },
  document: attributeDocument,
});
