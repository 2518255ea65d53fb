/** What `--json` prints of a diagnosis: the first screen as fields. Other short documents have `short.json`. */
import type { AccountingPart, VerdictResult } from './common.js';

/** Parts add up to the total, but for what the printed digits of a message hide. */
interface ShortMemory {
  readonly total_bytes: number;
  /** `at the peak`; empty at the OOM. */
  readonly when: string;
  readonly parts: readonly (Pick<AccountingPart, 'part' | 'bytes'> & { readonly name: string })[];
}

export interface ShortDiagnosis {
  readonly schema: 'mbforensics/diagnose-short@1';
  readonly run: string;
  readonly rank: number | null;
  readonly device: number | null;
  /** Absent where the state of the run is the answer. */
  readonly verdict?: Partial<Pick<VerdictResult, 'detail' | 'confidence'>> & {
    /** Null where nothing was read. */
    readonly cause: VerdictResult['cause'] | null;
    readonly title: string;
    readonly summary?: readonly string[];
  };
  /** Of a run that ended without a failure, or goes on. */
  readonly state?: Pick<VerdictResult, 'cause' | 'detail' | 'confidence'> & {
    readonly title: string;
    readonly summary?: readonly string[];
  };
  readonly fix?: {
    /** For `advise --fix`. */
    readonly ids?: readonly string[];
    /** To paste, in the form of the run's framework. */
    readonly lines?: readonly string[];
    readonly texts?: readonly string[];
    readonly saving_bytes?: number;
  };
  /** `evidence`: a handle for `show`. */
  readonly why?: readonly { readonly text: string; readonly evidence: string }[];
  readonly request?: { readonly requested_bytes: number | null; readonly text: string; readonly code?: string };
  readonly memory?: ShortMemory;
  readonly run_memory?: readonly string[];
  readonly run_growth?: readonly string[];
  readonly run_step?: readonly string[];
  readonly sites?: readonly {
    readonly live_bytes: number | null;
    readonly call_site: string | null;
    readonly blocks: number;
  }[];
  readonly others?: readonly string[];
  readonly unknown?: readonly string[];
  readonly not_read?: readonly string[];
  /** Commands. */
  readonly next?: readonly string[];
  /** With `--full`: all evidence, as in `short.json`. */
  readonly evidence?: Readonly<Record<string, unknown>>;
}
