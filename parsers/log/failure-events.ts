import { FOOTER_ID } from './failures/torchrun-footer.js';

/** Which lines report one event: a watchdog repeats it in six lines, a launcher kills its processes one by one. */
export interface FailureEvent {
  readonly name: string;
  /**
   * Most lines of the file between two of its lines; with a thousand ranks that print by turns the distance is a
   * thousand lines.
   */
  readonly reach: number;
  /** Lines of different writers belong to it too. */
  readonly shared?: boolean;
}

const COLLECTIVE: FailureEvent = { name: 'collective_timeout', reach: 8192 };
const CASCADE: FailureEvent = { name: 'termination', reach: 512, shared: true };
const MPI_BOX: FailureEvent = { name: 'mpi_box', reach: 2, shared: true };
const CRASH: FailureEvent = { name: 'crash', reach: 64 };
export const NCCL_EVENT: FailureEvent = { name: 'nccl', reach: 4096 };

/** By format or grammar entry. What is not here is an event of its own on each of its lines. */
const EVENTS: Readonly<Record<string, FailureEvent>> = {
  'torch.watchdog_timeout': COLLECTIVE,
  'torch.watchdog_end': COLLECTIVE,
  'torch.heartbeat_monitor': COLLECTIVE,
  'net.connection_lost': { name: 'connection', reach: 1024 },
  'launcher.sigterm': CASCADE,
  'slurm.step_end': CASCADE,
  // The box of Intel MPI has the rank on one line and the signal on the next.
  'mpi.rank_ended': MPI_BOX,
  'process.exit_killed': MPI_BOX,
  'process.crash': CRASH,
  'hydra.error': { name: 'configuration', reach: 12 },
};

/** Lines whose writer is unknown belong together only if they are neighbours. */
export const REACH_WITHOUT_WRITER = 8;
/** NCCL's warning contains a device, torch's exception a rank: they are matched only if they are close. */
export const REACH_OF_ANOTHER_PREFIX = 96;

export function eventOf(grammar: string, kind: string): FailureEvent | null {
  // Entries of a footer are rows of their own.
  if (grammar === FOOTER_ID) return null;
  const event = EVENTS[grammar] ?? (kind.startsWith('nccl_') ? NCCL_EVENT : null);
  // A watchdog that ends with another error reports that error.
  return event === COLLECTIVE && kind !== 'timeout' ? null : event;
}
