/** A profile of one rank as Nsight Systems 2026.4 exports it to SQLite. */
import type { RankProfile } from '../../run.js';
import type { ProfiledThread } from '../../simulate/profile/recording.js';
import type { RunFacts } from '../run-facts.js';
import { eventRows } from './event-rows.js';
import { reportClock } from './report-clock.js';
import { nsysSql, type Row } from './tables.js';
import { globalPidOf, targetRows } from './target-rows.js';

/** As `nsys profile --output=nsys_rank%q{SLURM_PROCID}` and `nsys export --type=sqlite` name it. */
export function exportName({ rank }: Pick<RankProfile, 'rank'>): string {
  return `nsys_rank${rank}.sqlite`;
}

/** Traceback and the end of the process: what comes after its failure. */
const END_US = 2_371_000;

/** Threads by their numbers after the process's own. */
const THREADS: readonly (readonly [thread: ProfiledThread | null, offset: number, name: (device: number) => string])[] =
  [
    ['main', 0, () => 'pt_main_thread'],
    ['nccl_service', 274, (device) => `NCCL Service ${device}`],
    [null, 281, () => 'pt_nccl_watchdg'],
    ['autograd', 311, (device) => `pt_autograd_${device}`],
  ];

/** The SQL that makes the database. */
export function exportSql(facts: RunFacts, { attempt, rank, recording }: RankProfile): string {
  const { plan, ranks } = facts.run.attempts[attempt]!;
  const { device, node, endUs } = ranks.find((one) => one.rank === rank)!;
  const clock = reportClock(plan.startUs);
  const pid = facts.pid(attempt, rank);
  const texts = new Map<string, number>([['', 0]]);
  const id = (text: string): number => {
    const number = texts.get(text) ?? texts.size;
    texts.set(text, number);
    return number;
  };
  const numbers = new Map(THREADS.map(([thread, offset]) => [thread, pid + offset]));
  const threads = {
    main: numbers.get('main')!,
    autograd: numbers.get('autograd')!,
    nccl_service: numbers.get('nccl_service')!,
  };
  const events = eventRows(recording, { clock, globalPid: globalPidOf(pid), device, threads, id });
  const target = targetRows({
    facts,
    attempt,
    rank,
    node,
    device,
    pid,
    utcEpochNs: clock.utcEpochNs,
    durationNs: clock.ns(endUs + END_US),
    threadNames: THREADS.map(([, offset, name]) => [pid + offset, name(device)]),
    id,
  });
  const strings = [...texts].map(([value, number]): Row => ({ id: number, value }));
  return nsysSql({ StringIds: strings, ...target, ...events });
}
