/** What a run's logs and configuration say that sizes of blocks can be held against. */

import { NO_RUN_FIGURES, type RunFigures } from '../../../attribution/blocks/attribution.js';
import type { Store } from '../../../store/store.js';
import { effectiveConfig, readSettings } from '../../run/config.js';
import { readLogFacts } from '../../run/log-facts.js';

export interface RunOfRanks {
  figuresOf(rank: number | null): RunFigures;
  /** Pipeline stage; null where the run does not tell. */
  stageOf(rank: number | null): number | null;
}

/** Parameters that only one rank line tells are those of every rank; with several, of the rank's own place. */
export async function readRunFigures(store: Store, runId: number): Promise<RunOfRanks> {
  const { layout, values } = await readLogFacts(store, runId);
  const config = effectiveConfig(await readSettings(store, runId));
  const word = config.entry('use_distributed_optimizer')?.value?.toLowerCase();
  const distributedOptimizer = word === 'true' ? true : word === 'false' ? false : null;
  const counts = values.filter(({ name, value }) => name.startsWith('parameters.local[') && value !== null);
  const positionOf = (rank: number | null) => (rank === null ? null : (layout?.position(rank) ?? null));
  return {
    stageOf: (rank) => positionOf(rank)?.pp ?? null,
    figuresOf(rank) {
      const position = positionOf(rank);
      const own = counts.find(({ name }) => position !== null && isAt(name, position));
      const count = own ?? (counts.length === 1 ? counts[0] : undefined);
      return { ...NO_RUN_FIGURES, rankParameters: count?.value ?? null, distributedOptimizer };
    },
  };
}

/** `parameters.local[tp=1,pp=3]` */
function isAt(name: string, position: { readonly tp: number; readonly pp: number }): boolean {
  const axes = new Map(
    name
      .slice(name.indexOf('[') + 1, -1)
      .split(',')
      .map((axis) => axis.split('=') as [string, string]),
  );
  return Number(axes.get('tp')) === position.tp && Number(axes.get('pp') ?? 0) === position.pp;
}
