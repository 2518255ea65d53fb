import type { LAUNCH_ENDINGS } from './codes.gen.js';
import type { IncidentKind } from './vocabulary.js';

export { LAUNCH_ENDINGS } from './codes.gen.js';

/** How a launch ended: as its lines show; a launcher that ends its processes does not show why. */
export type LaunchEnding = (typeof LAUNCH_ENDINGS)[number];

/** The end of a launch and the line that shows it; without one, the line of its last iteration. */
export interface LaunchEnd {
  readonly attempt: number;
  readonly ending: LaunchEnding;
  /** Kind of the failure line that shows it. */
  readonly ending_kind: IncidentKind | null;
  readonly ending_file: string | null;
  readonly ending_line: number | null;
  /** Of the process that failed first; null where no line shows it. */
  readonly ending_rank: number | null;
  readonly ending_host: string | null;
}
