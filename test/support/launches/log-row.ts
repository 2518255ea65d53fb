import type { KeptFinding, LogPlace } from '../../../src/model/log-rows.js';

/** A finding with its place. The place has the rank and device: those named in the line, else the writer's. */
export type LogRow = Placed<KeptFinding>;
type Placed<Finding> = Finding extends unknown ? Omit<Finding, keyof LogPlace | 'timeText'> & LogPlace : never;

/** Both in one object. The program does not make one for each of millions: that costs more than reading the line. */
export function placedRow(finding: KeptFinding, place: LogPlace): LogRow {
  return { ...finding, ...place };
}
