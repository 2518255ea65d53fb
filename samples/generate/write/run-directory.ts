/** All files of a generated run, by name. */
import { gzipSync } from 'node:zlib';
import { oomGrammar } from '../../../src/knowledge/oom-messages.js';
import type { GeneratedRun } from '../run.js';
import { yaml } from './config-tree.js';
import { allocConf, launchScript } from './launch-script.js';
import { runLogs } from './log-layout.js';
import { monitorFiles } from './monitor/monitor-files.js';
import { databaseOf } from './nsys/database.js';
import { exportName, exportSql } from './nsys/nsys-export.js';
import { runConfig } from './run-config.js';
import { runFacts } from './run-facts.js';
import { RING_ENTRIES, snapshotPickle } from './snapshot-pickle.js';
import { survivingSnapshots, truth } from './truth.js';

export const TRUTH_NAME = 'truth.json';
export const CONFIG_NAME = 'run_config.yaml';
export const LAUNCH_NAME = 'launch.sbatch';

export interface RunDirectoryOptions {
  /** Snapshots are compressed, as sites do that keep many of them. */
  readonly gzip?: boolean;
  /** Entries a trace keeps; the frameworks' own ring holds {@link RING_ENTRIES}. */
  readonly maxEntries?: number;
  /** Default: yes. Without, nothing needs the sqlite3 program, and the files of profiles are missing. */
  readonly withProfiles?: boolean;
}

/** What the log parser looks for: a file with one of these is taken for evidence of a failure, whatever it is. */
const FAILURE_WORDS = oomGrammar().families.flatMap(({ anchors }) => anchors);

/** Deterministic: the same run gives the same bytes, but for those in which zlib and SQLite leave their version. */
export function runDirectory(run: GeneratedRun, options: RunDirectoryOptions = {}): Map<string, Buffer> {
  const { gzip = false, maxEntries = RING_ENTRIES, withProfiles = true } = options;
  const facts = runFacts(run);
  const files = new Map<string, Buffer>();
  const putQuiet = (name: string, text: string): void => {
    const words = FAILURE_WORDS.find((anchor) => text.includes(anchor));
    if (words !== undefined) throw new Error(`${name} of ${run.causeName} reads like a failure message: "${words}"`);
    files.set(name, Buffer.from(text));
  };
  for (const [name, text] of runLogs(facts)) files.set(name, Buffer.from(text));
  const logs = [...files.keys()];
  putQuiet(LAUNCH_NAME, launchScript(facts));
  if (facts.plan.framework === 'megatron-bridge') putQuiet(CONFIG_NAME, yaml(runConfig(facts)));

  const suffix = gzip ? '.gz' : '';
  const snapshots = new Map([...survivingSnapshots(facts)].map(([name, dump]) => [`${name}${suffix}`, dump]));
  for (const [name, dump] of snapshots) {
    const { plan, ranks } = run.attempts[dump.attempt]!;
    const { process } = ranks.find(({ rank }) => rank === dump.rank)!;
    const deviceCount = Math.min(plan.gpu.perNode, ranks.length);
    const bytes = snapshotPickle(
      process,
      { torch: plan.torch, deviceCount, allocConf: allocConf(plan), maxEntries },
      dump.state,
    );
    files.set(name, gzip ? gzipSync(bytes) : bytes);
  }
  const profiles = new Map((run.profiles ?? []).map((profile) => [`${exportName(profile)}${suffix}`, profile]));
  for (const [name, profile] of withProfiles ? profiles : []) {
    const bytes = databaseOf(exportSql(facts, profile));
    files.set(name, gzip ? gzipSync(bytes, { level: 9 }) : bytes);
  }
  if (run.monitors !== undefined) for (const [name, bytes] of monitorFiles(facts)) files.set(name, bytes);
  const known = truth(facts, { logs, snapshots, profiles, maxEntries });
  putQuiet(TRUTH_NAME, `${JSON.stringify(known, null, 2)}\n`);
  return files;
}
