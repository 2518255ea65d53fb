const LF = 10;
const SPACE = 32;
const COLON = 58;
const OPEN = 91;
const CLOSE = 93;
const RANK = [114, 97, 110, 107] as const;
const LONGEST_NUMBER = 6;

const digit = (byte: number | undefined): number => (byte === undefined || byte < 48 || byte > 57 ? -1 : byte - 48);

/**
 * Which rank wrote a log, if one rank wrote it all: looks at the beginning of every line, in bytes, also of lines that
 * are never decoded.
 */
export class RankTally {
  /** Lines begin with a task number of `srun --label`. */
  srunLabelled = false;
  private lines = 0;
  private prefixed = 0;
  private lowest = Number.POSITIVE_INFINITY;
  private highest = Number.NEGATIVE_INFINITY;
  private fromTask = false;

  /** Counts the line feeds in [from, to), noting the prefix of the line after each; bytes are valid up to `end`. */
  countLines(bytes: Buffer, from: number, to: number, end: number): number {
    let count = 0;
    // Searched to `to`, not on to the next line feed: a progress bar may have none in a megabyte.
    const part = bytes.subarray(from, to);
    for (let feed = part.indexOf(LF); feed >= 0; feed = part.indexOf(LF, feed + 1)) {
      count += 1;
      // After two ranks the file is known to belong to more than one.
      if (this.lowest >= this.highest) this.look(bytes, from + feed + 1, end);
    }
    return count;
  }

  /** {@link countLines} of a line whose only line feed is its last byte; the next line begins at `next`. */
  countLine(bytes: Uint8Array, next: number, end: number): number {
    if (this.lowest >= this.highest) this.look(bytes, next, end);
    return 1;
  }

  /** Notes the prefix of the line that begins at `start`. */
  look(bytes: Uint8Array, start: number, end: number): void {
    let at = start;
    while (at < end && bytes[at] === SPACE && at - start < LONGEST_NUMBER) at += 1;
    if (at >= end || bytes[at] === LF) return;
    this.lines += 1;
    let rank = -1;
    if (this.srunLabelled && digit(bytes[at]) >= 0) {
      let task = 0;
      while (at < end && digit(bytes[at]) >= 0 && task < 1e7) {
        task = task * 10 + digit(bytes[at]);
        at += 1;
      }
      if (bytes[at] !== COLON) return;
      rank = task;
      at += bytes[at + 1] === SPACE ? 2 : 1;
      this.fromTask = true;
    }
    if (bytes[at] === OPEN && RANK.every((byte, index) => bytes[at + 1 + index] === byte)) {
      let number = 0;
      at += 1 + RANK.length;
      const digits = at;
      while (at < end && digit(bytes[at]) >= 0 && at - digits < LONGEST_NUMBER) {
        number = number * 10 + digit(bytes[at]);
        at += 1;
      }
      if (at > digits && bytes[at] === CLOSE) {
        rank = number;
        this.fromTask = false;
      }
    }
    if (rank < 0) return;
    this.prefixed += 1;
    this.lowest = Math.min(this.lowest, rank);
    this.highest = Math.max(this.highest, rank);
  }

  /** The one rank of all prefixes; null if they differ or most lines have none (the rest could be anyone's). */
  get rank(): number | null {
    return this.prefixed > 0 && this.lowest === this.highest && this.prefixed * 2 >= this.lines ? this.lowest : null;
  }

  get rankOrigin(): string | null {
    if (this.rank === null) return null;
    return this.fromTask ? 'prefix:srun' : 'prefix:[rankN]:';
  }
}
