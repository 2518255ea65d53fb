/** What Python says of a file that it cannot compile. */
export class PythonSyntaxError extends Error {
  /** `SyntaxError` or `IndentationError`. */
  readonly type: string;
  readonly file: string;
  readonly line: number;
  /** 0-based column of the caret. */
  readonly column: number;
  /** The line's text. */
  readonly text: string;

  constructor(type: string, message: string, where: { file: string; line: number; column: number; text: string }) {
    super(message);
    this.type = type;
    this.file = where.file;
    this.line = where.line;
    this.column = where.column;
    this.text = where.text;
  }

  /** The end of a traceback: file, line, caret, message. `mount` stands before the file. */
  describe(mount: string): string {
    const text = this.text.trimStart();
    const caret = Math.max(0, this.column - (this.text.length - text.length));
    return [
      `  File "${mount}${this.file}", line ${this.line}`,
      `    ${text}`,
      `    ${' '.repeat(caret)}^`,
      `${this.type}: ${this.message}`,
    ].join('\n');
  }
}
