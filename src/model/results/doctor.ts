/** `doctor completion` */
export interface CompletionResult {
  readonly schema: 'mbforensics/completion@1';
  readonly what: string;
  readonly text: string;
}

/** `doctor`: whether this installation works, and which files it can read. */
export interface DoctorCheck {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly text: string;
}

export interface DoctorResult {
  readonly schema: 'mbforensics/doctor@1';
  readonly version: string;
  readonly checks: readonly DoctorCheck[];
  readonly files: { readonly examined: number; readonly all: number };
  readonly formats: readonly {
    readonly format: string;
    readonly files: number;
    readonly bytes: number;
    /** The first one. */
    readonly example: string;
  }[];
  /** Files of a known format that are damaged or cannot be opened. */
  readonly unread: readonly { readonly path: string; readonly text: string }[];
}
