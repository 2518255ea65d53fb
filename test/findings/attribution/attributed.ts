/** A recorded program, ingested and attributed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PARSERS } from '../../../parsers/index.js';
import { labelAt, type RunFigures } from '../../../src/attribution/blocks/attribution.js';
import { compiledRules } from '../../../src/attribution/built-in-rules.js';
import { attributeDevice } from '../../../src/findings/attribution/attribute-device.js';
import { ingest } from '../../../src/ingest/ingest.js';
import { scratchDirectory } from '../../store/scratch.js';
import { newStore } from '../../support/new-store.js';
import { type Act, type BeforeBlock, recordProgram } from '../../support/recorded-program.js';

export interface Found {
  readonly component: string;
  readonly sub: string;
  readonly by: string;
  readonly rules: readonly string[];
}

/**
 * The label of every block: those from before the recording by `before 0`, `before 1`, …, allocations by their names.
 */
export async function attributed(
  acts: readonly Act[],
  before: readonly BeforeBlock[] = [],
  run?: RunFigures,
): Promise<Record<string, Found>> {
  const directory = scratchDirectory();
  const file = join(directory, 'snapshot_0.pickle');
  writeFileSync(file, recordProgram(acts, before));
  const store = await newStore(join(directory, 'store.duckdb'), { threads: 1 });
  try {
    await ingest({ store, parsers: PARSERS, paths: [file], now: new Date() });
    const of = await attributeDevice(store, { snapshotId: 1, device: 0 }, compiledRules(), run);
    const names = acts.flatMap((act) => ('alloc' in act ? [act.alloc] : []));
    const actual: Record<string, Found> = {};
    for (let row = 0; row < of.lives.count; row += 1) {
      const { component, sub_component, by, rules } = labelAt(of, row);
      const name = row < of.lives.starts ? before[row]!.name : names[row - of.lives.starts]!;
      actual[name] = { component, sub: sub_component, by, rules };
    }
    return actual;
  } finally {
    await store.close();
  }
}
