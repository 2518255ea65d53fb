import { constraintOf } from '../../src/knowledge/constraint-texts.js';
import { remember } from '../../src/model/group-by.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';

export interface ClassifiedException {
  readonly kind: IncidentKind;
  /** Id of the configuration rule that its text names. */
  readonly constraint: string | null;
}

interface Rule {
  readonly kind: IncidentKind;
  /** Tested against the class as printed. */
  readonly name?: RegExp;
  readonly message?: RegExp;
}

/** First match wins. A rule with both needs both. */
const RULES: readonly Rule[] = [
  { kind: 'host_oom', name: /(?:^|\.)_?(?:Array)?MemoryError$/ },
  { kind: 'shared_mem_not_oom', name: /(?:^|\.)OutOfResources$/ },
  { kind: 'cuda_oom_driver', name: /^(?:cupy|rmm|numba)\..{0,100}(?:OutOfMemoryError|MemoryError|CudaAPIError)$/ },
  { kind: 'cuda_oom', name: /^torch\.(?:cuda\.)?OutOfMemoryError$/ },
  {
    kind: 'hardware',
    message:
      /uncorrectable (?:ECC|NVLink) error|fallen off the bus|hardware (?:stack )?error|hardware failure|GPU requires reset|system not yet initialized|(?:device|GPU) is lost/i,
  },
  // Names of configuration frameworks, and messages of argument parsers.
  { kind: 'config_error', name: /^(?:omegaconf|hydra|pydantic|pydantic_core|jsonargparse|fiddle|yaml)\./ },
  {
    kind: 'config_error',
    name: /(?:^|\.)(?:Config(?:Attribute|Key|Type|Index|Value|Composition)?(?:Error|Exception)|ArgumentError|ValidationError|Interpolation\w{0,20}Error|MissingMandatoryValue|ScannerError|ParserError|OverrideParseException|DeepSpeedConfigError)$/,
  },
  {
    kind: 'config_error',
    message:
      /^Unrecognized configuration|unexpected keyword argument|^Unknown (?:argument|option)|Key '[^']{1,100}' (?:is )?not in /i,
  },
  {
    kind: 'timeout',
    message:
      /collective operation timeout|Timeout waiting for|Timed? ?out (?:after|waiting|initializing)|wait timeout|Socket Timeout|monitoredBarrier|Watchdog timeout|connect\(\) timed out|has timed out|Process group.{0,60}timed out/i,
  },
  { kind: 'timeout', name: /(?:^|\.)(?:TimeoutError|timeout|Timeout|TimeoutExpired)$/ },
  {
    kind: 'connection_lost',
    message:
      /Connection (?:reset|closed|refused|aborted|was closed)|Broken pipe|remote peer|failed to recv, got 0 bytes|ncclRemoteError|Transport endpoint|No route to host|Network is unreachable|socketProgress|remote process exited|couldn't connect to/i,
  },
  {
    kind: 'connection_lost',
    name: /(?:^|\.)(?:DistNetworkError|DistStoreError|Connection\w{0,20}Error|BrokenPipeError|gaierror|RayActorError|ActorDiedError)$/,
  },
  { kind: 'nccl_unknown', name: /(?:^|\.)DistBackendError$/ },
  { kind: 'nccl_unknown', name: /(?:^|\.)RuntimeError$/, message: /^NCCL (?:error|Error)/ },
];

/**
 * Ends that are not failures (a user's interrupt), and the exception that torchrun raises to print its footer; the
 * footer is read instead.
 */
const NO_FAILURE = /^(?:KeyboardInterrupt|GeneratorExit|ChildFailedError)$/;

/** All ranks raise one exception: the answers for the last texts. */
const known = new Map<string, ClassifiedException | null>();
const MOST_REMEMBERED = 64;

/**
 * The kind of an exception that no entry of the message grammar covers, or null if it is not a failure. The text is
 * matched before the class: libraries raise `RuntimeError` for everything.
 */
export function classifyException(name: string | null, message: string): ClassifiedException | null {
  return remember(known, MOST_REMEMBERED, `${name}\n${message}`, () => classify(name, message));
}

function classify(name: string | null, message: string): ClassifiedException | null {
  const last = name === null ? '' : name.slice(name.lastIndexOf('.') + 1);
  if (NO_FAILURE.test(last)) return null;
  if (last === 'SystemExit') {
    return message === '' || message === '0' || message === 'None' ? null : { kind: 'other', constraint: null };
  }
  const constraint = constraintOf(message);
  if (constraint !== null && !/Memory/.test(last)) return { kind: 'config_error', constraint: constraint.id };
  const head = message.slice(0, 2000);
  for (const rule of RULES) {
    if (rule.name !== undefined && (name === null || !rule.name.test(name))) continue;
    if (rule.message !== undefined && !rule.message.test(head)) continue;
    return { kind: rule.kind, constraint: null };
  }
  return { kind: 'other', constraint: null };
}
