/**
 * What `report` makes a page of: the documents of other verbs as `--json` prints them, and the course of devices in
 * bytes.
 */
import type { PageDevice } from '../picture/page-data.js';
import type { AtResult } from './at.js';
import type { AttributedDevice } from './attribute.js';
import type { BisectReportResult } from './bisect.js';
import type { DiagnoseResult, PeakDevice, ShowResult } from './common.js';
import type { DiffResult } from './diff.js';
import type { HistoryResult } from './history.js';
import type { LakeRuns } from './lake.js';
import type { LogIncident, RunFacts } from './log.js';
import type { TimelineDevice } from './timeline.js';

export interface ReportResult {
  readonly subject: 'run' | 'snapshot' | 'comparison' | 'bisection' | 'history';
  /** Name of the run, or of the two that are compared. */
  readonly title: string;
  /** `mbforensics 0.1.0`. */
  readonly program: string;
  /** Operand of commands that show more. */
  readonly operand: string;
  /** Null for a bisection or a history. */
  readonly diagnosis: DiagnoseResult | null;
  /** Of the run; of a comparison a, then b. Empty for a bisection or a history. */
  readonly facts: readonly ReportFacts[];
  /** Each piece of evidence with its lines, query and first rows: of the first verdicts, in their order. */
  readonly evidence: readonly ShowResult[];
  /** Devices that are drawn: those that ran out first. Of a comparison a, then b. */
  readonly devices: readonly ReportDevice[];
  /** Devices with a trace that are not drawn, with the operands that draw them. */
  readonly other_devices: readonly { readonly handle: string; readonly device: number }[];
  /** Empty where only one rank is known. */
  readonly ranks: readonly ReportRank[];
  /** Null where no log has iterations. */
  readonly iterations: ReportIterations | null;
  readonly diff: DiffResult | null;
  readonly bisection: BisectReportResult | null;
  readonly history: HistoryResult | null;
  /** Names were replaced by pseudonyms. */
  /** Of a lake, the runs that began last; null outside of one. */
  readonly lake: LakeRuns | null;
  readonly is_redacted: boolean;
}

/** What a reader of an issue asks first. */
export interface ReportFacts extends RunFacts {
  readonly run: string;
  /** `sizes`: settings by name, such as `num_layers`; those of a batch too. */
  readonly model: { readonly name: string | null; readonly sizes: Readonly<Record<string, number>> };
  /** The first failure, and the first OOM if that is another one, whole. */
  readonly errors: readonly Pick<LogIncident, 'file' | 'line' | 'rank' | 'text'>[];
}

export interface ReportDevice {
  readonly page: PageDevice;
  /** Columns of the device; see `src/findings/picture/encode-device.ts`. */
  readonly bytes: Uint8Array;
  readonly rank: number | null;
  readonly path: string;
  /** As `timeline` gives it. */
  readonly timeline: TimelineDevice;
  /** Tables of the moments that the page opens with: at the OOM if there is one, and at the peak. */
  readonly moments: readonly ReportMoment[];
}

export interface ReportMoment {
  readonly name: 'oom' | 'peak' | 'end';
  /** As `state --at` gives it. */
  readonly state: AtResult;
  /** As `attribute --at` gives it. */
  readonly attribution: AttributedDevice;
  /** As `peak --at` gives it. */
  readonly peak: PeakDevice;
}

/** One rank of the heat map. Bytes are those of the view `rank_summary`. */
export interface ReportRank {
  readonly rank: number;
  /** Pipeline stage; null where the layout is unknown. */
  readonly stage: number | null;
  readonly peak_allocated_bytes: number | null;
  readonly peak_reserved_bytes: number | null;
  /** Null: not known. */
  readonly ooms: number | null;
}

/** Series over iterations, of the rank that printed most of them. Null: not printed. */
export interface ReportIterations {
  readonly rank: number | null;
  readonly iteration: readonly number[];
  readonly step_ms: readonly (number | null)[];
  readonly loss: readonly (number | null)[];
  readonly allocated_bytes: readonly (number | null)[];
  readonly peak_allocated_bytes: readonly (number | null)[];
  readonly peak_reserved_bytes: readonly (number | null)[];
}

export interface ReportSummary {
  readonly schema: 'mbforensics/report@1';
  readonly subject: ReportResult['subject'];
  readonly run: string;
  readonly file: string;
  readonly bytes: number;
  readonly devices: readonly {
    readonly handle: string;
    readonly device: number;
    readonly entries: number;
    readonly blocks: number;
    /** Blocks that the page leaves out: the smallest by bytes × entries. */
    readonly blocks_left_out: number;
  }[];
  readonly devices_not_drawn: readonly { readonly handle: string; readonly device: number }[];
}
