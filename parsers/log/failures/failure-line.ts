import type { FailureFinding } from '../../../src/model/log-rows.js';
import type { IncidentKind } from '../../../src/model/vocabulary.js';
import type { Groups, LineFormat } from '../formats/contract.js';

/** What every failure line's pattern names; `text` is kept, the others where they are there. */
export const FAILURE_FIELDS: Readonly<Record<string, string>> = {
  text: 'what failed, in the words of the line',
  rank: 'global rank',
  host: 'host name',
  pid: 'process id',
  exitcode: 'exit code, negative for a signal',
  local: 'rank on its node',
  why: 'the reason it gives',
  xid: 'number of the Xid',
};

const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

/** SIGKILL: nothing shows who sent it. Every other exit is a report of a failure. */
export const kindOfExit = (exitCode: string | undefined): IncidentKind =>
  exitCode === '-9' || exitCode === '137' ? 'killed' : 'other';

/** A finding of the groups of {@link FAILURE_FIELDS}. */
export function failureOf(kind: IncidentKind, groups: Groups): FailureFinding {
  const { text = '', rank, host, pid, exitcode, local } = groups;
  return {
    row: 'failure',
    kind,
    text: text.trim(),
    ...(rank === undefined ? {} : { rank: number(rank) }),
    ...(local === undefined ? {} : { localRank: number(local) }),
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid: number(pid) }),
    ...(exitcode === undefined ? {} : { exitCode: number(exitcode) }),
  };
}

type Facts = Pick<LineFormat, 'id' | 'title' | 'producer' | 'versions' | 'source' | 'anchors' | 'pattern'>;

/** A format whose lines state a failure of one kind, or of a kind derived from the line. */
export function failureLine(
  facts: Facts & { readonly kind: IncidentKind | ((groups: Groups) => IncidentKind | null) },
): LineFormat {
  const { kind, ...rest } = facts;
  const names = [...facts.pattern.source.matchAll(/\(\?<(\w+)>/g)].map(([, name]) => name!);
  return {
    ...rest,
    form: 'line',
    fields: Object.fromEntries([...new Set(names)].map((name) => [name, FAILURE_FIELDS[name] ?? name])),
    read(groups, emit) {
      const failureKind = typeof kind === 'string' ? kind : kind(groups);
      if (failureKind !== null) emit(failureOf(failureKind, groups));
    },
  };
}
