/** What a run's logs and configuration say that sizes of blocks can be held against. */

import { NO_RUN_FIGURES, type RunFigures } from '../../../attribution/blocks/attribution.js';
import type { Store } from '../../../store/store.js';
import { effectiveConfig, readSettings } from '../../run/config.js';
import { readLogFacts } from '../../run/log-facts.js';
import type { RankLayout } from '../../run/rank-layout.js';

export interface RunOfRanks {
  figuresOf(rank: number | null): RunFigures;
}

const COUNTS = 'parameters.local[';
/** A hostile log can print any number of them. */
const MOST_COUNTS = 20_000;

/** Parameters that only one rank line tells are those of every rank; with several, of the rank's own place. */
export async function readRunFigures(store: Store, runId: number): Promise<RunOfRanks> {
  const config = effectiveConfig(await readSettings(store, runId));
  const word = config.entry('use_distributed_optimizer')?.value?.toLowerCase();
  const distributedOptimizer = word === 'true' ? true : word === 'false' ? false : null;
  const printed = await store.all('log.values', { run_id: runId, prefix: COUNTS, most: MOST_COUNTS });
  const counts = printed.filter(({ value }) => value !== null);
  // With one count no positions of ranks are needed, which take questions about all of the log.
  const layout = counts.length < 2 ? null : (await readLogFacts(store, runId)).layout;
  return {
    figuresOf(rank) {
      const position = positionOf(layout, rank);
      const own = counts.find(({ name }) => position !== null && isAt(name, position));
      const count = own ?? (counts.length === 1 ? counts[0] : undefined);
      return { ...NO_RUN_FIGURES, rankParameters: count?.value ?? null, distributedOptimizer };
    },
  };
}

/** Pipeline stage of a rank; null where the run does not tell. */
export type StageOf = (rank: number | null) => number | null;

export async function readStages(store: Store, runId: number): Promise<StageOf> {
  const { layout } = await readLogFacts(store, runId);
  return (rank) => positionOf(layout, rank)?.pp ?? null;
}

const positionOf = (layout: RankLayout | null, rank: number | null) =>
  rank === null ? null : (layout?.position(rank) ?? null);

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
