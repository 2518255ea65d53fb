/** The lines of one attempt before they are laid out: which rank printed what, and when. */

export interface LogLine {
  readonly timeUs: number;
  /** Null: the launcher, Slurm or the kernel. */
  readonly rank: number | null;
  readonly node: number;
  readonly text: string;
}

export interface LogBook {
  /** A rank prints `text`, which may hold several lines. */
  print(timeUs: number, rank: number, text: string): void;
  /** The system prints on a node. */
  system(timeUs: number, node: number, text: string): void;
  /** In time order; lines of the same moment keep their order. */
  lines(): LogLine[];
}

export function createLogBook(nodeOf: (rank: number) => number): LogBook {
  const lines: LogLine[] = [];
  const add = (timeUs: number, rank: number | null, node: number, text: string): void => {
    for (const line of text.split('\n')) lines.push({ timeUs, rank, node, text: line });
  };
  return {
    print: (timeUs, rank, text) => add(timeUs, rank, nodeOf(rank), text),
    system: (timeUs, node, text) => add(timeUs, null, node, text),
    lines: () => [...lines].sort((a, b) => a.timeUs - b.timeUs),
  };
}
