/** What both forms of an export, tables and lines of JSON, emit alike. */
import { type EnvFinding, type KnownRank, plainPlace, rankFields } from '../../src/model/log-rows.js';
import type { NsysSink, RowSink } from '../../src/model/parser.js';

type Id = number | bigint | string | null;

/** The process in a serialized process or thread id: bits 24 to 47. */
export function processNumber(id: Id): number | null {
  const bits = asBits(id);
  return bits === null ? null : Number((bits >> 24n) & 0xffffffn);
}

/** The thread in a serialized thread id: bits 0 to 23. */
export function threadNumber(id: Id): number | null {
  const bits = asBits(id);
  return bits === null ? null : Number(bits & 0xffffffn);
}

function asBits(id: Id): bigint | null {
  if (id === null || (typeof id === 'number' && !Number.isInteger(id))) return null;
  if (typeof id === 'string' && !/^-?\d{1,20}$/.test(id)) return null;
  return BigInt.asUintN(64, BigInt(id));
}

/** Name of a program without its directory, which is private to the user. */
export function programName(command: string | null): string | null {
  return command?.split('/').at(-1) || command;
}

/** A message of the profiler, in which paths lead through users' homes and the job's directories. */
export function withoutDirectories(message: string): string {
  return message.replace(/(?<![\w.~-])(?:~|\.{1,2})?\/(?:[^\s/'"]+\/)+(?=[^\s/'"])/g, '…/');
}

/**
 * Variables of the launched process, like those of any other environment dump. An export is not divided into lines:
 * their place is its beginning.
 */
export function emitEnvironment(sink: RowSink, env: readonly EnvFinding[], rank: KnownRank, host: string | null): void {
  const place = plainPlace({ line: 1, offset: 0, ...rankFields(rank), host, format: 'nsys.capture' });
  for (const finding of env) sink.logRow(finding, place);
}

/** Processes of the capture by number; those in `ofRank` have the rank. */
export function emitProcesses(
  nsys: NsysSink,
  pids: Iterable<number>,
  nameOf: (pid: number) => string | null | undefined,
  ofRank: readonly number[],
  rank: KnownRank,
): void {
  for (const pid of [...pids].sort((a, b) => a - b)) {
    const known = ofRank.includes(pid) ? rank : null;
    nsys.fact({ row: 'process', pid, name: nameOf(pid) ?? null, ...rankFields(known) });
  }
}
