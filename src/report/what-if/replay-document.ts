/** How exactly a trace is replayed, and what keeps a device from being exact. */

import type { ReplayDevice, ReplayResult } from '../../model/results/replay.js';
import * as d from '../document/document.js';
import { wordOf, wordTable } from '../words/fill.js';
import { allTexts, factsOf, textMaker } from '../words/fill-pieces.js';

const textOf = textMaker('what-if', 'replay');
const variantName = wordOf('codes', 'replay_variants');

export const replayDocument = ({ schema, snapshots }: ReplayResult): d.Document =>
  d.document(
    schema,
    '',
    snapshots.length > 1 && d.table(snapshots, ['path', 'device', 'status', 'mismatches']),
    ...snapshots.map(deviceSection),
  );

function deviceSection(one: ReplayDevice): d.MaybePart {
  const { handle, rank, address_matches, address_total } = one;
  return d.section(
    textOf('title', one),
    { key: 'snapshots', isOneOf: true, fields: { handle, rank, address_matches, address_total } },
    d.facts(
      factsOf('what-if', 'replay_facts', one, {
        ties: variantName(one.variant),
        has_flushes: one.flushes.forced + one.flushes.explicit > 0,
      }),
    ),
    d.items(
      one.ooms.map((oom) => textOf('oom', oom)),
      { key: 'ooms' },
    ),
    d.itemSection('Taken from the record', 'from_record', allTexts('what-if', 'from_record', one.from_record)),
    mismatchSection(one),
  );
}

function mismatchSection({ first_mismatch: first, mismatches }: ReplayDevice): d.MaybePart {
  if (first === null) return null;
  const { kind, seq, context } = first;
  return d.section(
    textOf('mismatch', first, { mismatches, what: wordTable('codes', 'mismatch_kinds')[kind] ?? kind }),
    { key: 'first_mismatch', fields: { kind } },
    d.table(
      context,
      [
        d.column('is_first', (entry) => (entry.seq === seq ? '>' : ''), { title: '' }),
        ...(['seq', 'action', 'size_bytes'] as const),
        d.column('address', ({ address }) => address && `0x${address}`),
      ],
      { key: 'context' },
    ),
  );
}
