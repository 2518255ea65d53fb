/**
 * The cases of `cases/*.yaml`. A run is a list of parts of the same file; of what two parts have, settings and
 * variables add up, and the later one decides the rest. A question is `RUN [+ TIMELINE] [against RUN]`, listed under
 * the answer of the rule; `says` has texts of the answer: exact, `~contained`, `!absent` or `/matched/`.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Timeline } from '../../../src/findings/symptoms/evidence.js';
import { oomLines, trainingLog } from '../../support/training-log.js';
import type { RunFiles } from './observed.js';

type Settings = Readonly<Record<string, string | number>>;

interface Part {
  readonly iterations?: number;
  readonly target?: number;
  readonly finished?: boolean;
  readonly tflops?: number;
  /** Of one step after the other, again and again. */
  readonly step_ms?: readonly number[];
  /** GiB by rank: at the first memory line and at the later one. */
  readonly peaks?: readonly (readonly [first: number, later: number])[];
  readonly set?: Settings;
  /** Settings that are printed; default: all. */
  readonly only?: readonly string[];
  /** Of the process, as the kernel has it in /proc/PID/environ. */
  readonly env?: Settings;
  readonly gpu?: string;
  /** The end of the log: {@link oomLines}, an exception of rank 0, Megatron's timers of every rank, other lines. */
  readonly oom?: readonly Parameters<typeof oomLines>[];
  readonly raised?: string;
  readonly timers?: Readonly<Record<string, readonly number[]>>;
  readonly after?: readonly string[];
  readonly files?: RunFiles;
}

type Answers = Readonly<Partial<Record<'confirmed' | 'refuted' | 'untested' | 'silent', readonly string[]>>>;
type Texts = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
type Devices = Partial<Timeline> | readonly Partial<Timeline>[];

interface Written {
  readonly parts: Readonly<Record<string, Part>>;
  readonly refusals?: Readonly<
    Record<
      string,
      { readonly error: string; readonly has: Settings; readonly lacks: Settings; readonly more?: string[] }
    >
  >;
  readonly runs: Readonly<Record<string, readonly (string | Part)[]>>;
  readonly timelines?: Readonly<Record<string, Devices>>;
  readonly cases: Readonly<Record<string, Answers & { readonly says?: Texts }>>;
}

export interface Question {
  readonly id: string;
  readonly question: string;
  readonly run: string;
  readonly baseline: string | undefined;
  /** Undefined: those of the run itself. */
  readonly timelines: readonly Partial<Timeline>[] | undefined;
  /** Undefined: only the texts count. */
  readonly expected: keyof Answers | undefined;
  readonly says: readonly (readonly [field: string, text: string])[];
}

export function readFile(name: string): unknown {
  return parse(readFileSync(new URL(`cases/${name}.yaml`, import.meta.url), 'utf8'));
}

export function readCases(name: string): { runs: Record<string, RunFiles>; questions: Question[] } {
  const file = readFile(name) as Written;
  const runs: Record<string, RunFiles> = {};
  const questions: Question[] = [];
  const add = (run: string, parts: readonly (string | Part)[]): void => {
    runs[run] = filesOf(['every', ...parts].map((part) => (typeof part === 'string' ? partOf(file, part) : part)));
  };
  const ask = (id: string, question: string, expected?: keyof Answers, texts: Texts[string] = {}): void => {
    const [, run = '', timeline, baseline] = /^(\S+)(?: \+ (\S+))?(?: against (\S+))?$/.exec(question)!;
    const devices = timeline === undefined ? undefined : file.timelines![timeline]!;
    const says = Object.entries(texts).flatMap(([field, all]) => [all].flat().map((text) => [field, text] as const));
    questions.push({ id, question, run, baseline, timelines: devices && [devices].flat(), expected, says });
  };
  for (const [id, { error, has, lacks, more = [] }] of Object.entries(file.refusals ?? {})) {
    add(`${id}-has`, [...more, { set: has, raised: error }]);
    add(`${id}-lacks`, [...more, { set: lacks, raised: error }]);
    runs[`${id}-bare`] = { 'train.log': `${raisedLines(error).join('\n')}\n` };
    add(`${id}-unfailed`, [...more, { set: has }]);
    const seen = `~${error.slice(error.indexOf(' ') + 1).slice(0, 40)}`;
    ask(id, `${id}-has`, 'confirmed', { source: '/^train\\.log line \\d+$/', seen });
    ask(id, `${id}-lacks`, 'refuted');
    ask(id, `${id}-bare`, 'untested', { confirmation_text: '/not in what was read: add/' });
    // What would fail without having failed is for lint to report.
    ask(id, `${id}-unfailed`, 'silent');
  }
  for (const [run, parts] of Object.entries(file.runs)) add(run, parts);
  for (const [id, { says = {}, ...answers }] of Object.entries(file.cases)) {
    const listed = Object.entries(answers) as [keyof Answers, readonly string[]][];
    for (const [expected, all] of listed) for (const question of all) ask(id, question, expected, says[question]);
    const others = Object.entries(says).filter(([question]) => !listed.some(([, all]) => all.includes(question)));
    for (const [question, texts] of others) ask(id, question, undefined, texts);
  }
  return { runs, questions };
}

function partOf({ parts }: Written, name: string): Part {
  const part = parts[name];
  if (part === undefined) throw new Error(`no part ${name}`);
  return part;
}

function filesOf(parts: readonly Part[]): RunFiles {
  const merged: Part = Object.assign({}, ...parts, {
    set: Object.assign({}, ...parts.map((part) => part.set)),
    env: parts.some((part) => part.env) ? Object.assign({}, ...parts.map((part) => part.env)) : undefined,
  });
  const { set = {}, only = Object.keys(set), env, gpu, tflops, step_ms, peaks = [], files, ...log } = merged;
  const { oom = [], raised, timers = {}, after = [], ...rest } = log;
  const lines = [
    ...oom.flatMap((figures) => oomLines(...figures)),
    ...(raised === undefined ? [] : raisedLines(raised)),
    ...Object.entries(timers).flatMap(([name, ms]) => [
      ...['times across ranks (ms):', `  ${name}:`],
      ...ms.map((value, rank) => `     rank${String(rank).padStart(3)}: ${value.toFixed(2)}`),
    ]),
    ...after,
  ];
  const written = trainingLog({
    ...rest,
    ...(tflops === undefined ? {} : { tflops: () => tflops, stepMs: () => 700_000 / tflops }),
    ...(step_ms === undefined ? {} : { stepMs: (iteration) => step_ms[(iteration - 1) % step_ms.length]! }),
    peaks: peaks.map(([first, later], rank) => ({ rank, first: first * 1024, later: later * 1024 })),
    arguments: Object.fromEntries(only.map((key) => [key, set[key]!])),
    after: lines,
  });
  const variables = env && { PATH: '/usr/bin', HOSTNAME: 'node-1', RANK: '0', ...env };
  return {
    'train.log': written,
    ...(variables && {
      environ: Object.entries(variables)
        .map(([key, value]) => `${key}=${value}\0`)
        .join(''),
    }),
    ...(gpu && { 'gpu.log': `GPU 0: NVIDIA ${gpu} (UUID: GPU-00000000-1111-2222-3333-444444444444)\n` }),
    ...files,
  };
}

/** How Python ends where a check of the configuration fails. */
function raisedLines(error: string): string[] {
  return [
    'Traceback (most recent call last):',
    '  File "/opt/megatron/core/transformer/transformer_config.py", line 900, in __post_init__',
    '    raise ValueError(',
    error,
  ].map((line) => `[rank0]: ${line}`);
}
