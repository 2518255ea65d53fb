/** Every verb. A question loads only its own: all of them take three times as long to load as Node to start. */
import type { Verb } from '../define-verb.js';
import { VERB_HELP } from '../verb-help.js';

const LOADERS = {
  diagnose: () => import('./start/diagnose.js'),
  report: () => import('./start/report.js'),
  advise: () => import('./start/advise.js'),
  show: () => import('./start/show.js'),
  log: () => import('./run/log.js'),
  peak: () => import('./moment/peak.js'),
  attribute: () => import('./moment/attribute.js'),
  whatif: () => import('./what-if/whatif.js'),
  diff: () => import('./compare/diff.js'),
  lint: () => import('./start/lint.js'),
  ingest: () => import('./store/ingest.js'),
  doctor: () => import('./start/doctor.js'),
  snapshot: () => import('./moment/snapshot.js'),
  state: () => import('./moment/state.js'),
  allocations: () => import('./moment/allocations.js'),
  timeline: () => import('./moment/timeline.js'),
  nsys: () => import('./run/nsys.js'),
  compare: () => import('./compare/compare.js'),
  golden: () => import('./compare/golden.js'),
  gate: () => import('./compare/gate.js'),
  'verify-fix': () => import('./compare/verify-fix.js'),
  history: () => import('./compare/history.js'),
  bisect: () => import('./compare/bisect.js'),
  estimate: () => import('./what-if/estimate.js'),
  explain: () => import('./knowledge/explain.js'),
  runs: () => import('./store/runs.js'),
  sql: () => import('./store/sql.js'),
  lake: () => import('./store/lake.js'),
  export: () => import('./store/export.js'),
  redact: () => import('./store/redact.js'),
  completion: () => import('./store/completion.js'),
  snapshots: () => import('./moment/snapshots.js'),
  iterations: () => import('./run/iterations.js'),
  memory: () => import('./run/memory.js'),
  config: () => import('./run/config.js'),
  env: () => import('./run/env.js'),
  outside: () => import('./run/outside.js'),
  profile: () => import('./run/profile.js'),
  triage: () => import('./compare/triage.js'),
  replay: () => import('./what-if/replay.js'),
  residual: () => import('./what-if/residual.js'),
  knobs: () => import('./knowledge/knobs.js'),
  rules: () => import('./knowledge/rules.js'),
  'explain-stack': () => import('./knowledge/explain-stack.js'),
  classify: () => import('./knowledge/classify.js'),
  formats: () => import('./knowledge/formats.js'),
  sources: () => import('./store/sources.js'),
} satisfies Record<string, () => Promise<{ readonly verb: Verb }>>;

export type VerbName = keyof typeof LOADERS;

/** Verbs by name, in the order of the help. One without a group is a part of another verb. */
export const VERBS = Object.fromEntries(
  Object.entries(VERB_HELP)
    .filter(([name]) => Object.hasOwn(LOADERS, name))
    .map(([name, { heading: group, summary }]) => [name, { group, summary, load: LOADERS[name as VerbName] }]),
) as Readonly<Record<VerbName, ListedVerb>>;

export interface ListedVerb {
  readonly group: string | undefined;
  readonly summary: string;
  readonly load: () => Promise<{ readonly verb: Verb }>;
}

/** Names of all verbs of the help. */
export const LISTED = (Object.keys(VERBS) as VerbName[]).filter((name) => VERBS[name].group !== undefined);

/** Headings of the help: `mbforensics --help` lists the verbs of the first one, with `--all` of all. */
export const GROUPS = [...new Set(LISTED.map((name) => VERBS[name].group!))];

/** Parts of a verb by the words that call them: `log memory` is the verb `memory`. */
export const PARTS: ReadonlyMap<string, VerbName> = new Map(
  Object.entries(VERB_HELP).flatMap(([name, { called }]) => (called === undefined ? [] : [[called, name as VerbName]])),
);
