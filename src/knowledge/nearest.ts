/** Names similar to an unknown one. */

/** At most `most` names, the likest first: those that hold it, then those that are few edits away. */
export function nearest(asked: string, names: readonly string[], most = 5): readonly string[] {
  const wanted = plain(asked);
  if (wanted === '') return [];
  return [...new Set(names)]
    .map((name) => ({ name, score: score(wanted, plain(name)) }))
    .filter(({ score: far }) => far <= 0.4)
    .sort((a, b) => a.score - b.score || a.name.length - b.name.length || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

const plain = (text: string): string => text.replaceAll(/[-_.\s]/g, '').toLowerCase();

/** 0 for the same, 1 for nothing in common. */
function score(wanted: string, name: string): number {
  const short = Math.min(wanted.length, name.length);
  if (short >= 3 && (name.includes(wanted) || wanted.includes(name)))
    return 0.2 * (1 - short / Math.max(wanted.length, name.length));
  return edits(wanted, name) / Math.max(wanted.length, name.length);
}

/** Changes of one character, exchanges of neighbours included: the optimal string alignment. Names are short. */
function edits(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(change, last[j]! + 1, row[j - 1]! + 1, isExchange ? before[j - 2]! + 1 : change));
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
