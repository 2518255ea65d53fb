/** What the verbs about one allocator share: the snapshot and device they mean, its history, and how they end. */

import { type ChosenDevice, chooseDevice } from '../findings/state/choose-snapshot.js';
import type { Moment } from '../findings/trace/moment.js';
import type { MbfError } from '../model/errors.js';
import type { Store } from '../store/store.js';
import type { Context } from './context.js';
import { deviceOption } from './count-option.js';
import { EXIT } from './exit-codes.js';
import { openTarget } from './target.js';
import type { CommonOptions } from './verb.js';
import { withHistories } from './with-histories.js';

export interface DeviceOptions extends CommonOptions {
  readonly device?: string;
}

/** The help of `--device`. */
export const DEVICE_HELP = 'device ordinal; default: the one that ran out, else the one with the longest trace';

/**
 * Asks `work` about the device that the operand, the moment and `--device` mean. Says on standard error which of several snapshots that is. `cannotKeep` as of
 * `withHistories`.
 */
export async function withOneDevice(
  operand: string | undefined,
  moment: Moment,
  options: DeviceOptions,
  context: Context,
  work: (store: Store, chosen: ChosenDevice) => Promise<void>,
  cannotKeep?: (error: MbfError) => void,
): Promise<void> {
  const device = deviceOption(options.device);
  const opened = await openTarget(operand, options, context);
  let target = opened;
  try {
    const filter = opened.handle === undefined ? { runId: opened.runId } : { handle: opened.handle };
    const chosen = await chooseDevice(opened.store, filter, moment, device);
    target = await withHistories(opened, [chosen.snapshotId], options, cannotKeep);
    await work(target.store, chosen);
    if (chosen.others > 0)
      context.err(
        `${chosen.others + 1} snapshots in run ${target.run}; this is ${chosen.handle}, name another by its handle\n`,
      );
    if (target.failed.length > 0) process.exitCode = EXIT.input;
  } finally {
    await target.close();
  }
}
