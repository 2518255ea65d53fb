/** Two operands that may be in one store: a process opens a store once, so the other is closed where it must be. */
import { MbfError } from '../model/errors.js';
import type { Context } from './context.js';
import type { DbOptions } from './operands.js';
import { openTarget, type Target } from './target.js';

export interface TwoTargets {
  use<Result>(side: 0 | 1, work: (target: Target) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export function twoTargets(operands: readonly [string, string], options: DbOptions, context: Context): TwoTargets {
  const open: [Target | undefined, Target | undefined] = [undefined, undefined];
  const close = async (side: 0 | 1): Promise<void> => {
    const target = open[side];
    open[side] = undefined;
    await target?.close();
  };
  // The same words mean the same store.
  const placeOf = (side: 0 | 1): 0 | 1 => (operands[0] === operands[1] ? 0 : side);
  const opened = async (own: 0 | 1): Promise<Target> => {
    const otherSide = own === 0 ? 1 : 0;
    try {
      open[own] ??= await openTarget(operands[own], options, context);
    } catch (error) {
      if (!(error instanceof MbfError && error.code === 'MBF3001') || open[otherSide] === undefined) throw error;
      await close(otherSide);
      open[own] = await openTarget(operands[own], options, context);
    }
    return open[own];
  };
  return {
    use: async (side, work) => work(await opened(placeOf(side))),
    async close() {
      await close(0);
      await close(1);
    },
  };
}
