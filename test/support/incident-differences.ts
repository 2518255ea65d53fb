/** The out-of-memory errors that the log parser finds in the logs of a generated run, against those of the run. */
import { incidentsInText } from '../../parsers/log/index.js';
import type { GeneratedRun, SimulatedRank } from '../../samples/generate/run.js';
import { roleOf } from '../../src/derive/run/first-failure.js';
import type { IncidentRow } from '../../src/model/tables.js';

const OOM_KINDS: ReadonlySet<string> = new Set(['cuda_oom', 'cuda_oom_graph_capture']);

/** Differences between the out-of-memory errors of a run and those the log parser finds; empty if there are none. */
export function incidentDifferences(run: GeneratedRun, logs: Iterable<string>): string[] {
  const incidents = [...logs].flatMap((text) => incidentsInText(text));
  const expected = run.attempts.flatMap(({ ranks }) => ranks.filter(({ ending }) => ending.kind === 'oom'));
  const ooms = incidents.filter((row) => OOM_KINDS.has(row.kind) && row.bytes.requested !== undefined);
  const differences: string[] = [];
  if (ooms.length !== expected.length) differences.push(`${ooms.length} errors in the log, ${expected.length} meant`);
  for (const rank of expected) {
    const ofRank = ooms.filter((row) => row.rank === rank.rank);
    if (!ofRank.some((row) => figuresAgree(row, rank))) {
      differences.push(`rank ${rank.rank}: ${ofRank.map(({ text }) => text).join(' / ') || 'nothing in the log'}`);
    }
  }
  // Without other failures and without a story there is nothing else to find.
  const quiet = run.attempts.every(
    ({ ranks, storyLines }) =>
      storyLines.length === 0 && ranks.every(({ ending }) => ending.kind !== 'raised' && ending.kind !== 'signalled'),
  );
  // Footers of launchers and schedulers report the failure; they are none. Behind it, a signal ends the other ranks.
  const isConsequence = (row: IncidentRow): boolean =>
    roleOf(row) === 'secondary' || (ooms.length > 0 && row.kind === 'cancelled');
  const remaining = incidents.filter((row) => !ooms.includes(row) && !isConsequence(row));
  if (quiet) differences.push(...remaining.map((row) => `${row.kind}: ${row.text}`));
  return differences;
}

/** Every figure a message prints is that of the report, to the printed digits. */
function figuresAgree(row: IncidentRow, { ending, device }: SimulatedRank): boolean {
  if (ending.kind !== 'oom') return false;
  const { report } = ending;
  const privateFree = row.bytes.privatePool === undefined ? 0 : report.privatePoolFreeBytes;
  const meant: Readonly<Record<string, number | null>> = {
    requested: report.segmentBytes,
    total: report.deviceTotalBytes,
    free: report.deviceFreeBytes,
    process: report.processBytes,
    allocated: report.allocatedBytes + privateFree,
    reservedUnallocated: report.reservedBytes - report.allocatedBytes - privateFree,
    privatePool: report.privatePoolFreeBytes,
    allowed: report.allowedBytes,
  };
  return (
    row.device === device &&
    Object.entries(row.bytes).every(([field, printed]) => {
      const bytes = meant[field];
      return bytes === undefined || (bytes !== null && Math.abs(bytes - printed.bytes) <= printed.precisionBytes + 1);
    })
  );
}
