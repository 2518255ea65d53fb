/** The first screen, with the file of the page. */

import type { DiagnoseResult } from '../../model/results/common.js';
import type { ReportSummary } from '../../model/results/report.js';
import * as d from '../document/document.js';
import { diagnoseDocument } from './diagnose-document.js';
import type { DiagnosedTarget } from './diagnosis-parts.js';

export function reportDocument(
  summary: ReportSummary,
  diagnosis: DiagnoseResult | null,
  target: DiagnosedTarget,
): d.Document {
  const { schema, file, bytes: size, devices, devices_not_drawn: others } = summary;
  const leftOut = devices.reduce((sum, device) => sum + device.blocks_left_out, 0);
  const drawn = devices.length === 0 ? 'no memory snapshot to draw' : d.t`${d.counted(devices.length, 'device')} drawn`;
  const picture = d.section(
    'PICTURE',
    { key: 'page' },
    d.paragraph(d.t`${d.as('file', d.code(file))}  (${d.as('file_bytes', d.bytes(size))}, ${drawn})`),
    leftOut > 0 && d.paragraph(d.t`without the ${d.count(leftOut)} smallest blocks by bytes × entries`),
    others.length > 0 && d.paragraph(d.t`not drawn: ${d.counted(others.length, 'device')} (--devices)`),
  );
  const screen =
    diagnosis === null
      ? { ...d.document(schema, ''), labels: { width: 9, height: 16 } }
      : diagnoseDocument(withoutReport(diagnosis), target);
  return { ...screen, schema, parts: d.parts([...screen.parts, picture]) };
}

/** The command that was just given is not what comes next. */
const withoutReport = (diagnosis: DiagnoseResult): DiagnoseResult => ({
  ...diagnosis,
  verdicts: diagnosis.verdicts.map((verdict) => ({
    ...verdict,
    commands: verdict.commands.filter((command) => !command.startsWith('mbforensics report')),
  })),
});
