/** Reads one form of a monitor's output, line by line. */
export interface LineReader {
  /** As `TakeLine` of `src/text/text-lines.ts`. */
  take(text: string, line: number, offset: number, isWhole: boolean): void;
  /** After the last line. */
  end(): void;
}
