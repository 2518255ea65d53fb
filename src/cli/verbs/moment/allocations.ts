import { MOMENT_FORMS, parseMoment } from '../../../derive/trace/moment.js';
import { parseBlock } from '../../../findings/run/names/block-labels.js';
import { describeAllocations } from '../../../findings/state/allocations.js';
import { ALLOCATION_ORDERS } from '../../../model/results/allocation.js';
import { allocationsCsv, allocationsDocument } from '../../../report/moment/allocations-document.js';
import { defineVerb } from '../../define-verb.js';
import { choice, count, flag, ONE_DEVICE, option, SNAPSHOT, size, wrong } from '../../options.js';

export const verb = defineVerb({
  name: 'allocations',
  operands: { snapshot: SNAPSHOT },
  options: {
    block: option('--block <label>', 'a block as memory_viz names it (b7f3a00000000_2), or an address', block),
    moment: option('--at <moment>', `only what is live then: ${MOMENT_FORMS}`, parseMoment),
    site: option('--site <text>', 'only stacks with this text in a function or file name'),
    minBytes: option('--min <size>', 'only blocks from this size up, e.g. 10MiB', size),
    sort: choice('--sort <order>', 'one of', ALLOCATION_ORDERS, 'bytes'),
    device: ONE_DEVICE,
    limit: option('--limit <n>', 'rows to show; 0 = all', count, '20'),
    csv: flag('--csv', 'print the rows as CSV'),
  },
  async ask({ snapshot, block, moment, site, minBytes, sort, device, limit }, session) {
    const { store, chosen } = await session.device(snapshot, moment ?? { kind: 'peak' }, device);
    const question = {
      moment,
      address: block?.address,
      version: block?.version ?? undefined,
      minBytes,
      site,
      sort,
      limit,
    };
    return describeAllocations(store, chosen, question);
  },
  document: allocationsDocument,
  render: (result, { csv }) => (csv ? allocationsCsv(result) : undefined),
});

function block(text: string): NonNullable<ReturnType<typeof parseBlock>> {
  const parsed = parseBlock(text);
  if (parsed === undefined) throw wrong('--block', text, 'a label or an address');
  return parsed;
}
