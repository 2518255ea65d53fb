const NOTHING = { attempt: -1, host: null, localRank: -1, rank: -1 };

/**
 * Global ranks of writers that torchrun's prefix numbers on their node only (`[default3]:`), from lines of the same
 * writer that name their rank and from the launcher's footers. In a log of several nodes, several writers share a
 * number; their ranks remain unknown.
 */
export class LocalRanks {
  /** By launch, host and number on the node; null once two ranks have claimed it. */
  private readonly ranks = new Map<string, number | null>();
  private last: { attempt: number; host: string | null; localRank: number; rank: number } = NOTHING;
  private readonly pids = new Map<string, number>();

  learn(attempt: number, host: string | null, localRank: number, rank: number): void {
    // A line has many figures.
    const { last } = this;
    if (last.attempt === attempt && last.host === host && last.localRank === localRank && last.rank === rank) return;
    this.last = { attempt, host, localRank, rank };
    for (const key of [keyOf(attempt, host, localRank), keyOf(attempt, null, localRank)]) {
      const known = this.ranks.get(key);
      if (known === undefined) this.ranks.set(key, rank);
      else if (known !== rank) this.ranks.set(key, null);
    }
  }

  /** A footer names the process too. */
  learnPid(attempt: number, rank: number, pid: number): void {
    this.pids.set(`${attempt} ${rank}`, pid);
  }

  rankOf(attempt: number, host: string | null, localRank: number): number | null {
    return this.ranks.get(keyOf(attempt, host, localRank)) ?? null;
  }

  pidOf(attempt: number, rank: number): number | null {
    return this.pids.get(`${attempt} ${rank}`) ?? null;
  }
}

function keyOf(attempt: number, host: string | null, localRank: number): string {
  return `${attempt} ${localRank}@${host ?? ''}`;
}
