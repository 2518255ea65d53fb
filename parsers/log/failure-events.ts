/** Which lines tell of one event: a watchdog says the same in six lines, a launcher kills its processes one by one. */
export interface FailureEvent {
  readonly name: string;
  /** Most lines of the file between two of its lines. */
  readonly reach: number;
  /** Lines of different writers belong to it too. */
  readonly shared?: boolean;
}

const COLLECTIVE: FailureEvent = { name: 'collective_timeout', reach: 512 };
const CASCADE: FailureEvent = { name: 'termination', reach: 512, shared: true };
const CRASH: FailureEvent = { name: 'crash', reach: 64 };
export const NCCL_EVENT: FailureEvent = { name: 'nccl', reach: 96 };

/** By format or grammar entry. What is not here is an event of its own on each of its lines. */
const EVENTS: Readonly<Record<string, FailureEvent>> = {
  'torch.watchdog_timeout': COLLECTIVE,
  'torch.watchdog_end': COLLECTIVE,
  'torch.heartbeat_monitor': COLLECTIVE,
  'torch.collective_timeout': COLLECTIVE,
  'net.connection_lost': { name: 'connection', reach: 32 },
  'launcher.sigterm': CASCADE,
  'slurm.step_end': CASCADE,
  'process.crash': CRASH,
  'hydra.error': { name: 'configuration', reach: 12 },
};

/** Lines whose writer is unknown belong together only if they are neighbours. */
export const REACH_WITHOUT_WRITER = 8;

export function eventOf(grammar: string, kind: string): FailureEvent | null {
  return EVENTS[grammar] ?? (kind.startsWith('nccl_') ? NCCL_EVENT : null);
}
