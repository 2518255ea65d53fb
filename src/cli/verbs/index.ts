/**
 * Every verb, in the order of the help. A question loads only its own verb: all of them together take three times as
 * long to load as Node to start.
 */
import type { Verb } from '../define-verb.js';

/** Headings of the help, in its order. `mbforensics --help` lists the verbs of the first one, with `--all` of all. */
export const GROUPS = [
  'Start here',
  'Inside a snapshot or profile',
  'Compare and bisect',
  'Configuration',
  'Data and export',
] as const;

export interface ListedVerb {
  /** Without one the verb is not listed: it is a part of another one, or an older name. */
  readonly group?: (typeof GROUPS)[number];
  readonly summary: string;
  readonly load: () => Promise<{ readonly verb: Verb }>;
}

export const VERBS = {
  diagnose: {
    group: 'Start here',
    summary: 'why a run failed: verdict, fix, evidence; also `mbforensics PATH...`',
    load: () => import('./start/diagnose.js'),
  },
  report: {
    group: 'Start here',
    summary: 'one offline page with pictures: memory over time, address map, flame graph, ranks, evidence',
    load: () => import('./start/report.js'),
  },
  advise: {
    group: 'Start here',
    summary: 'all fixes, with saving and cost, and what the configuration forbids',
    load: () => import('./start/advise.js'),
  },
  show: {
    group: 'Start here',
    summary: 'details of an evidence handle such as E6: log lines, rows, SQL',
    load: () => import('./start/show.js'),
  },
  log: {
    group: 'Start here',
    summary: 'summary of the logs: launches, versions, layout, steps, memory, failures',
    load: () => import('./run/log.js'),
  },
  peak: {
    group: 'Start here',
    summary: 'live memory at the peak or another moment, by call site',
    load: () => import('./moment/peak.js'),
  },
  attribute: {
    group: 'Start here',
    summary: 'live memory by component: parameters, gradients, activations, ...',
    load: () => import('./moment/attribute.js'),
  },
  whatif: {
    group: 'Start here',
    summary: 'replay under other allocator settings or on another GPU: does it fit?',
    load: () => import('./what-if/whatif.js'),
  },
  diff: {
    group: 'Start here',
    summary: 'difference of two runs, commits or snapshots: memory, settings, time',
    load: () => import('./compare/diff.js'),
  },
  lint: {
    group: 'Start here',
    summary: 'errors and waste in a configuration, before it is launched',
    load: () => import('./start/lint.js'),
  },
  ingest: {
    group: 'Start here',
    summary: 'read files into a store, so that later commands need no path',
    load: () => import('./store/ingest.js'),
  },
  doctor: {
    group: 'Start here',
    summary: 'check Node, the database, the store, disk space, and which files here can be read',
    load: () => import('./start/doctor.js'),
  },
  snapshot: {
    group: 'Inside a snapshot or profile',
    summary: 'content of a memory snapshot: sizes, pools, settings, what is missing',
    load: () => import('./moment/snapshot.js'),
  },
  state: {
    group: 'Inside a snapshot or profile',
    summary: 'allocator state at a moment: live blocks, holes, pools, pinned segments; --map draws it',
    load: () => import('./moment/state.js'),
  },
  allocations: {
    group: 'Inside a snapshot or profile',
    summary: 'allocations as rows: size, lifetime, call site; one with its stack',
    load: () => import('./moment/allocations.js'),
  },
  timeline: {
    group: 'Inside a snapshot or profile',
    summary: 'allocated and reserved memory over the trace, and by training step',
    load: () => import('./moment/timeline.js'),
  },
  nsys: {
    group: 'Inside a snapshot or profile',
    summary: 'Nsight Systems exports: memory outside PyTorch, failed CUDA calls, steps, time',
    load: () => import('./run/nsys.js'),
  },
  compare: {
    group: 'Compare and bisect',
    summary: 'compare a run with its golden values: memory, step time, loss',
    load: () => import('./compare/compare.js'),
  },
  golden: {
    group: 'Compare and bisect',
    summary: 'keep, list, import and export golden values',
    load: () => import('./compare/golden.js'),
  },
  gate: {
    group: 'Compare and bisect',
    summary: 'check a run against a baseline file of the repository, in CI',
    load: () => import('./compare/gate.js'),
  },
  'verify-fix': {
    group: 'Compare and bisect',
    summary: 'whether a change took effect: what it saved, what it cost, what limits the run now',
    load: () => import('./compare/verify-fix.js'),
  },
  history: {
    group: 'Compare and bisect',
    summary: 'one metric over the commits of all runs, and the commits at which it changed',
    load: () => import('./compare/history.js'),
  },
  bisect: {
    group: 'Compare and bisect',
    summary: 'locate the commit of a regression with `git bisect run`',
    load: () => import('./compare/bisect.js'),
  },
  estimate: {
    group: 'Configuration',
    summary: 'theoretical memory of a configuration, by pipeline stage and component',
    load: () => import('./what-if/estimate.js'),
  },
  explain: {
    group: 'Configuration',
    summary: 'explain a rule, knob, symptom, fix or error code',
    load: () => import('./knowledge/explain.js'),
  },
  runs: { group: 'Data and export', summary: 'list the runs of the store', load: () => import('./store/runs.js') },
  sql: { group: 'Data and export', summary: 'run read-only SQL on the store', load: () => import('./store/sql.js') },
  export: {
    group: 'Data and export',
    summary: 'write a flame graph (SVG), pprof, speedscope, memory_viz, Parquet, CSV',
    load: () => import('./store/export.js'),
  },
  redact: {
    summary: 'copy a run without names and secrets, to attach it to an issue',
    load: () => import('./store/redact.js'),
  },
  completion: {
    summary: 'print shell completion for bash, zsh or fish, or the man page',
    load: () => import('./store/completion.js'),
  },

  snapshots: {
    summary: 'the memory snapshots of each rank in the order of time: growth, and what was lost between them',
    load: () => import('./moment/snapshots.js'),
  },
  iterations: {
    summary: 'training iterations: step time, throughput, loss; median and p95 of each launch',
    load: () => import('./run/iterations.js'),
  },
  memory: {
    summary: 'memory lines by rank and pipeline stage: last, largest, growth, retries',
    load: () => import('./run/memory.js'),
  },
  config: {
    summary: 'settings in force with their sources; differences from another run',
    load: () => import('./run/config.js'),
  },
  env: {
    summary: 'environment variables that matter, with their sources, and which ranks differ',
    load: () => import('./run/env.js'),
  },
  outside: {
    summary: 'device memory outside PyTorch over time and by process, from nvidia-smi, DCGM or W&B',
    load: () => import('./run/outside.js'),
  },
  profile: {
    summary: 'memory timelines of torch.profiler, by category',
    load: () => import('./run/profile.js'),
  },
  triage: {
    summary: 'judge runs of one commit for `git bisect run`: exit 0 good, 1 bad, 125 cannot be judged, 255 otherwise',
    load: () => import('./compare/triage.js'),
  },
  replay: {
    summary: 'how well the allocator model reproduces the recording: addresses, driver calls, final state',
    load: () => import('./what-if/replay.js'),
  },
  residual: {
    summary: 'measured memory less the theoretical estimate, by component',
    load: () => import('./what-if/residual.js'),
  },
  knobs: {
    summary: 'settings that change memory or speed: their effects, and how they are known',
    load: () => import('./knowledge/knobs.js'),
  },
  rules: {
    summary: 'the rules that attribute memory to components',
    load: () => import('./knowledge/rules.js'),
  },
  'explain-stack': {
    summary: 'which attribution rule matches a stack, at which frame, and why others do not',
    load: () => import('./knowledge/explain-stack.js'),
  },
  classify: {
    summary: 'the failure messages of one text with their figures, and a verdict',
    load: () => import('./knowledge/classify.js'),
  },
  formats: {
    summary: 'what this version reads: files, scalars of metrics, lines of text logs',
    load: () => import('./knowledge/formats.js'),
  },
  sources: { summary: 'list the files of the store with their status', load: () => import('./store/sources.js') },
} as const satisfies Readonly<Record<string, ListedVerb>>;
export type VerbName = keyof typeof VERBS;

/** Parts of a verb: `log memory` is the verb `memory`, a name that is accepted too. */
export const PARTS: Readonly<Partial<Record<VerbName, Readonly<Record<string, VerbName>>>>> = {
  log: {
    iterations: 'iterations',
    memory: 'memory',
    config: 'config',
    env: 'env',
    outside: 'outside',
    profile: 'profile',
  },
  snapshot: { series: 'snapshots' },
  whatif: { replay: 'replay' },
  bisect: { triage: 'triage' },
  estimate: { residual: 'residual' },
  doctor: { completion: 'completion' },
  export: { redact: 'redact' },
  explain: { knobs: 'knobs', rules: 'rules', stack: 'explain-stack', text: 'classify', formats: 'formats' },
  runs: { sources: 'sources' },
};

/** Older names, and the arguments they stand for. */
export const OLDER_NAMES: Readonly<Record<string, readonly [VerbName, ...string[]]>> = {
  at: ['state'],
  segments: ['state', '--map'],
};
