/**
 * A line of code that is part of a stack. Torch shares one frame dict per (code object, line), so locations are
 * compared by identity.
 */
export interface CodeLine {
  readonly name: string;
  readonly filename: string;
  readonly line: number;
  /** The source text, as a traceback prints it. */
  readonly source: string;
}

/** Innermost first. */
export type CallPath = readonly CodeLine[];
