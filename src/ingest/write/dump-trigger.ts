/**
 * Why a memory snapshot was dumped, from the file and its name alone. The caller considers the other dumps of the rank.
 */
import type { DumpTrigger } from '../../model/vocabulary.js';
import type { NamedStep } from '../discover/names/step-from-name.js';

export interface KnownTrigger {
  readonly trigger: DumpTrigger;
  /** How it is known: `trace: …` or `name: …`. */
  readonly origin: string;
}

/** Megatron's `_oom_rank-3` and `oom_rank-3_`, torchtnt's directory `oom_rank3`, and any other name with that word. */
const OOM_NAME = /(?:^|[^a-z])(?:oom|out[-_]?of[-_]?memory)(?![a-z])/i;
/** Dumps of handlers of any exception. */
const FAILURE_NAME = /(?<![a-z])(?:crash(?:ed)?|exception|fail(?:ed|ure)?|error|fatal)(?![a-z])/i;
/** torchtitan dumps there when an OutOfMemoryError leaves its training loop, and only then. */
const EXIT_DIRECTORY = /^(?:iteration_\d+|step_\d{12})_exit$/;
/** torchtnt's `oom_rank3`, and verl's `oom_<time>`. */
const OOM_DIRECTORY = /^oom[-_](?:rank|\d)/i;
/** verl's sampler calls its files so. */
const PERIODIC_NAME = /^periodic[-_]/i;

/** Undefined: unknown. `path` is `/`-separated; its last two directories are considered. */
export function dumpTrigger(
  path: string,
  lastEntryIsOom: boolean,
  step: NamedStep | undefined,
): KnownTrigger | undefined {
  const segments = path.split('/').slice(-3);
  const base = segments.at(-1)!;
  const directories = segments.slice(0, -1);
  if (lastEntryIsOom) return { trigger: 'oom', origin: 'trace: its last entry is an OOM' };
  if (OOM_NAME.test(base)) return { trigger: 'oom', origin: 'name: oom' };
  if (directories.some((name) => OOM_DIRECTORY.test(name))) return { trigger: 'oom', origin: 'name: oom directory' };
  if (directories.some((name) => EXIT_DIRECTORY.test(name))) {
    return { trigger: 'oom', origin: 'name: exit directory of torchtitan' };
  }
  if (FAILURE_NAME.test(base)) return { trigger: 'failure', origin: `name: ${FAILURE_NAME.exec(base)![0]}` };
  if (step !== undefined) return { trigger: 'periodic', origin: `name: ${step.rule}` };
  if (PERIODIC_NAME.test(base)) return { trigger: 'periodic', origin: 'name: periodic' };
  return undefined;
}
