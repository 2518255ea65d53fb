/**
 * Every verb, in the order of the help. A question loads only its own verb: all of them together take three times as
 * long to load as Node to start.
 */
import type { Verb } from '../define-verb.js';

export interface ListedVerb {
  /** Its heading in the help; without one the verb is a part of another one. */
  readonly group?: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly verb: Verb }>;
}

/**
 * Verbs by the headings of the help, in its order. `mbforensics --help` lists those of the first one, with `--all` of
 * all. Those without a heading are a part of another verb.
 */
const SUMMARIES = {
  'Start here': {
    diagnose: 'why a run failed: verdict, fix, evidence; also `mbforensics PATH...`',
    report: 'one offline page with pictures: memory over time, address map, flame graph, ranks, evidence',
    advise: 'all fixes, with saving and cost, and what the configuration forbids',
    show: 'details of an evidence handle such as E6: log lines, rows, SQL',
    log: 'summary of the logs: launches, versions, layout, steps, memory, failures',
    peak: 'live memory at the peak or another moment, by call site',
    attribute: 'live memory by component: parameters, gradients, activations, ...',
    whatif: 'replay under other allocator settings or on another GPU: does it fit?',
    diff: 'difference of two runs, commits or snapshots: memory, settings, time',
    lint: 'errors and waste in a configuration, before it is launched',
    ingest: 'read files into a store, so that later commands need no path',
    doctor: 'check Node, the database, the store, disk space, and which files here can be read',
  },
  'Inside a snapshot or profile': {
    snapshot: 'content of a memory snapshot: sizes, pools, settings, what is missing',
    state: 'allocator state at a moment: live blocks, holes, pools, pinned segments; --map draws it',
    allocations: 'allocations as rows: size, lifetime, call site; one with its stack',
    timeline: 'allocated and reserved memory over the trace, and by training step',
    nsys: 'Nsight Systems exports: memory outside PyTorch, failed CUDA calls, steps, time',
  },
  'Compare and bisect': {
    compare: 'compare a run with its golden values: memory, step time, loss',
    golden: 'keep, list, import and export golden values',
    gate: 'check a run against a baseline file of the repository, in CI',
    'verify-fix': 'whether a change took effect: what it saved, what it cost, what limits the run now',
    history: 'one metric over the commits of all runs, and the commits at which it changed',
    bisect: 'locate the commit of a regression with `git bisect run`',
  },
  Configuration: {
    estimate: 'theoretical memory of a configuration, by pipeline stage and component',
    explain: 'explain a rule, knob, symptom, fix or error code',
  },
  'Data and export': {
    runs: 'list the runs of the store',
    sql: 'run read-only SQL on the store',
    export: 'write a flame graph (SVG), pprof, speedscope, memory_viz, Parquet, CSV',
  },
  '': {
    redact: 'copy a run without names and secrets, to attach it to an issue',
    completion: 'print shell completion for bash, zsh or fish, or the man page',
    snapshots: 'the memory snapshots of each rank in the order of time: growth, and what was lost between them',
    iterations: 'training iterations: step time, throughput, loss; median and p95 of each launch',
    memory: 'memory lines by rank and pipeline stage: last, largest, growth, retries',
    config: 'settings in force with their sources; differences from another run',
    env: 'environment variables that matter, with their sources, and which ranks differ',
    outside: 'device memory outside PyTorch over time and by process, from nvidia-smi, DCGM or W&B',
    profile: 'memory timelines of torch.profiler, by category',
    triage: 'judge runs of one commit for `git bisect run`: exit 0 good, 1 bad, 125 cannot be judged, 255 otherwise',
    replay: 'how well the allocator model reproduces the recording: addresses, driver calls, final state',
    residual: 'measured memory less the theoretical estimate, by component',
    knobs: 'settings that change memory or speed: their effects, and how they are known',
    rules: 'the rules that attribute memory to components',
    'explain-stack': 'which attribution rule matches a stack, at which frame, and why others do not',
    classify: 'the failure messages of one text with their figures, and a verdict',
    formats: 'what this version reads: files, scalars of metrics, lines of text logs',
    sources: 'list the files of the store with their status',
  },
} as const;

type Heading = keyof typeof SUMMARIES;
export type VerbName = { [Key in Heading]: keyof (typeof SUMMARIES)[Key] }[Heading];

const LOADERS: Readonly<Record<VerbName, ListedVerb['load']>> = {
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
};

export const GROUPS = Object.keys(SUMMARIES).filter((heading) => heading !== '');

export const VERBS = Object.fromEntries(
  Object.entries(SUMMARIES).flatMap(([heading, verbs]) =>
    Object.entries(verbs).map(([name, summary]) => [
      name,
      { summary, load: LOADERS[name as VerbName], ...(heading === '' ? {} : { group: heading }) },
    ]),
  ),
) as Readonly<Record<VerbName, ListedVerb>>;

/** Parts of a verb: `log memory` is the verb `memory`. */
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
