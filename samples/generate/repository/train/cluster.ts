/** The nodes that jobs of these repositories run on, and what is known of them. */

/** Says on which nodes a job runs: a line `NODELIST=gpu-a014`. */
export const CLUSTER_FILE = 'scripts/cluster.env';

/** A node whose devices are held back by their temperature. */
export const SLOW_NODE = 'gpu-c113';
export const NODES: readonly string[] = ['gpu-a014', 'gpu-a022', 'gpu-b031', 'gpu-b040'];

export function nodeOf(files: ReadonlyMap<string, string>): string {
  return /^NODELIST=(\S+)/m.exec(files.get(CLUSTER_FILE) ?? '')?.[1] ?? NODES[0]!;
}
