/** One pasted text: the first screen of its verdict, then what was recognised. */
import type { Classification, ClassifyResult, LogIncident } from '../../model/results/log.js';
import * as d from '../document/document.js';
import { excerpt, titleOf } from '../document/values.js';
import { plainText } from '../render/plain.js';
import { diagnoseDocument } from '../start/diagnose-document.js';
import { wordVerdict } from '../verdict/word-verdict.js';

const MOST_INCIDENTS = 12;
/** Characters of a failure line. */
const LONGEST_LINE = 300;

const FIGURES: readonly (readonly [field: keyof LogIncident, title?: string])[] = [
  ['requested_bytes'],
  ['total_bytes'],
  ['free_bytes'],
  ['process_bytes', 'this process'],
  ['other_process_bytes', 'processes listed'],
  ['allocated_bytes'],
  ['reserved_total_bytes', 'reserved'],
  ['reserved_unallocated_bytes', 'reserved, unallocated'],
  ['private_pool_bytes', 'private pools'],
  ['allowed_bytes'],
];

export function wordClassification({ verdict, incident, ...rest }: Classification): ClassifyResult {
  return { schema: 'mbforensics/classify@1', ...rest, verdict: { ...wordVerdict(verdict), incident } };
}

export function classifyDocument({ schema, source, verdict: judged, incidents }: ClassifyResult): d.Document {
  const { incident: judgedIncident, ...verdict } = judged;
  const head = diagnoseDocument({
    schema: 'mbforensics/diagnose@1',
    run: source,
    verdicts: [verdict],
    first_failure: null,
    launches: [],
    judged_launch: 1,
    launch_ooms: [],
    run_state: null,
    caught_ooms: null,
    messages_dropped: 0,
    ranks: null,
    read_formats: [],
    failed_sources: [],
    advice: null,
    pinned_host_memory: null,
  });
  const more = incidents.length - MOST_INCIDENTS;
  const below = d.section(
    '',
    { isBelow: true, about: incidents.length < 2 ? null : `${incidents.length} failure lines` },
    ...incidents
      .slice(0, MOST_INCIDENTS)
      .map((one, i) => incidentSection(one, incidents.length > 1 && i === judgedIncident)),
    more > 0 && d.note(d.t`${more} more (--json=full lists all)`),
  );
  return { ...head, schema, parts: d.parts([...head.parts, below]) };
}

function incidentSection(incident: LogIncident, isJudged: boolean): d.MaybePart {
  const { line, kind, rank, device, frame, self_pid: pid, text } = incident;
  const figures = d.joined(
    [
      ...FIGURES.map(([field, title]) => {
        const value = incident[field];
        return typeof value === 'number' && d.t`${title ?? titleOf(field)} ${d.as(field, d.bytes(value))}`;
      }),
      pid !== null && d.t`process ${d.code(`${pid}`)} is this one`,
    ],
    ' · ',
  );
  return d.section(
    d.t`line ${d.as('line', d.count(line))}`,
    { key: 'incidents', isOneOf: true, fields: { rank, device, is_judged: isJudged } },
    d.paragraph(
      d.joined(
        [
          d.as('kind', kind),
          rank !== null && `rank ${rank}`,
          device !== null && `device ${device}`,
          isJudged && 'judged',
        ],
        ' · ',
      ),
    ),
    plainText(figures) !== '' && d.paragraph(figures),
    frame !== null &&
      d.paragraph(d.t`in ${d.code(`${frame.function} (${frame.file}:${frame.line})`)}`, { key: 'frame' }),
    d.paragraph(excerpt(text, LONGEST_LINE), { key: 'text' }),
  );
}
