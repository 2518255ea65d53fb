import { classifyException } from '../classify-exception.js';
import type { LogFormat } from '../formats/contract.js';
import { failureLine } from './failure-line.js';

/**
 * Classes that Python code raises with the reason in the text; one of them begins the line of an exception whose
 * traceback is missing.
 */
const CLASSES: readonly string[] = [
  'AssertionError',
  'ValueError',
  'NotImplementedError',
  'RuntimeError',
  'TypeError',
  'KeyError',
  'IndexError',
  'AttributeError',
  'ImportError',
  'ModuleNotFoundError',
  'FileNotFoundError',
  'PermissionError',
  'FileExistsError',
  'NameError',
  'ZeroDivisionError',
  'UnpicklingError',
  'JSONDecodeError',
  'CheckpointingException',
  'DistBackendError',
  'DistNetworkError',
  'DistStoreError',
];

/** Configurations that were refused, and exceptions printed without a traceback. */
export const CONFIGURATION_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'argparse.error',
    title: 'arguments a program does not take, or lacks',
    producer: 'Python argparse',
    versions: 'any',
    source: 'cpython Lib/argparse.py ArgumentParser.error',
    anchors: [
      ': error: unrecognized arguments',
      ': error: the following arguments are required',
      ': error: argument ',
      ': error: ambiguous option',
      ': error: one of the arguments',
    ],
    kind: 'config_error',
    pattern:
      /: error: (?<text>(?:unrecognized arguments|the following arguments are required|argument [^:\n]{1,120}|ambiguous option|one of the arguments [^\n]{1,200} is required)(?:: ?[^\n]{0,400})?)/g,
  }),
  failureLine({
    id: 'hydra.error',
    title: 'a configuration tree does not take an override, or lacks a value',
    producer: 'Hydra, OmegaConf',
    versions: 'Hydra 1.x, OmegaConf 2.x',
    source: 'hydra hydra/_internal/config_loader_impl.py; omegaconf/base.py',
    anchors: [
      'Could not override ',
      'is not in struct',
      'Error executing job with overrides',
      'Missing mandatory value',
      'You must specify ',
      'no viable alternative at input',
      "mismatched input '",
      'Error merging override',
      'Error in call to target',
      'Error locating target',
    ],
    kind: 'config_error',
    pattern:
      /(?<text>Could not override '[^'\n]{1,200}'|Key '[^'\n]{1,200}' is not in struct|Error executing job with overrides: [^\n]{0,400}|Missing mandatory value: [\w.]{1,200}|You must specify '[^'\n]{1,200}'|no viable alternative at input '[^'\n]{0,200}'|mismatched input '[^'\n]{1,60}' expecting [^\n]{1,100}|Error merging override [^\n]{1,300}|Error (?:in call to|locating) target '[^'\n]{1,300}')/g,
  }),
  {
    form: 'line',
    id: 'python.exception_line',
    title: 'the last line of a traceback, with or without the traceback',
    producer: 'Python',
    versions: 'any',
    source: 'cpython Lib/traceback.py format_exception_only',
    anchors: CLASSES.map((name) => `${name}: `),
    fields: { exception: 'class, module included', message: 'its message' },
    pattern: new RegExp(
      `^\\s{0,4}(?<exception>(?:[A-Za-z_]\\w{0,60}\\.){0,8}(?:${CLASSES.join('|')})): (?<message>\\S[^\\n]{0,2000})`,
      'g',
    ),
    read({ exception = '', message = '' }, emit) {
      const classified = classifyException(exception, message);
      if (classified === null) return;
      emit({ row: 'failure', kind: classified.kind, text: `${exception}: ${message.trim()}`, exception });
    },
  },
];
