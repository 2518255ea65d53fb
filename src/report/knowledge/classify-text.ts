/** One pasted text: the verdict, then what was recognised. */
import { pushAll } from '../../model/lists.js';
import type { Classification, ClassifyResult, LogIncident } from '../../model/results/log.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { documentText } from '../render/text.js';
import { diagnoseDocument } from '../start/diagnose-document.js';
import { printable } from '../table.js';
import { shortText, wrapped } from '../text-pieces.js';
import { wordVerdict } from '../verdict/word-verdict.js';

const MOST_INCIDENTS = 12;

const FIGURES: readonly (readonly [field: keyof LogIncident, title: string])[] = [
  ['requested_bytes', 'requested'],
  ['total_bytes', 'total'],
  ['free_bytes', 'free'],
  ['process_bytes', 'this process'],
  ['other_process_bytes', 'processes listed'],
  ['allocated_bytes', 'allocated'],
  ['reserved_total_bytes', 'reserved'],
  ['reserved_unallocated_bytes', 'reserved, unallocated'],
  ['private_pool_bytes', 'private pools'],
  ['allowed_bytes', 'allowed'],
];

export function wordClassification({ verdict, incident, ...rest }: Classification): ClassifyResult {
  return { schema: 'mbforensics/classify@1', ...rest, verdict: { ...wordVerdict(verdict), incident } };
}

export function classifyText(result: ClassifyResult): string {
  const { incident: _, ...verdict } = result.verdict;
  const screen = diagnoseDocument({
    schema: 'mbforensics/diagnose@1',
    run: result.source,
    verdicts: [verdict],
    first_failure: null,
    launches: [],
    judged_launch: 1,
    launch_ooms: [],
    run_state: null,
    caught_ooms: null,
    ranks: null,
    read_formats: [],
    failed_sources: [],
    advice: null,
    pinned_host_memory: null,
  });
  const head = documentText(screen);
  if (result.incidents.length === 0) return head;
  const lines = [`${formatCount(result.incidents.length)} failure ${result.incidents.length === 1 ? 'line' : 'lines'}`];
  for (const [i, incident] of result.incidents.slice(0, MOST_INCIDENTS).entries()) {
    const judged = i === result.verdict.incident && result.incidents.length > 1 ? ' · judged' : '';
    const rank = incident.rank === null ? '' : ` · rank ${incident.rank}`;
    const device = incident.device === null ? '' : ` · device ${incident.device}`;
    lines.push(`  line ${formatCount(incident.line)} · ${incident.kind}${rank}${device}${judged}`);
    const figures = FIGURES.flatMap(([field, title]) => {
      const bytes = incident[field];
      return typeof bytes === 'number' ? [`${title} ${formatBytes(bytes)}`] : [];
    });
    if (incident.self_pid !== null) figures.push(`process ${incident.self_pid} is this one`);
    if (figures.length > 0) pushAll(lines, wrapped(`    ${figures.join(' · ')}`, '    '));
    if (incident.frame !== null)
      lines.push(
        `    in ${shortText(`${incident.frame.function} (${incident.frame.file}:${incident.frame.line})`, 92)}`,
      );
    lines.push(`    ${shortText(incident.text, 94)}`);
  }
  if (result.incidents.length > MOST_INCIDENTS)
    lines.push(`  ${printable(formatCount(result.incidents.length - MOST_INCIDENTS))} more; --json shows all`);
  return `${head}\n${lines.join('\n')}\n`;
}
