/** The section of the first screen that names the page. */
import type { ReportSummary } from '../../model/results/report.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { printable } from '../plain-text.js';
import { counted } from '../text-pieces.js';

export function pictureLines({ file, bytes, devices, devices_not_drawn: others }: ReportSummary): string[] {
  const leftOut = devices.reduce((sum, device) => sum + device.blocks_left_out, 0);
  const drawn = devices.length === 0 ? 'no memory snapshot to draw' : `${counted(devices.length, 'device')} drawn`;
  return [
    `PICTURE  ${printable(file)}  (${formatBytes(bytes)}, ${drawn})`,
    ...(leftOut === 0 ? [] : [`         without the ${formatCount(leftOut)} smallest blocks by bytes × entries`]),
    ...(others.length === 0 ? [] : [`         not drawn: ${counted(others.length, 'device')} (--devices)`]),
  ];
}
