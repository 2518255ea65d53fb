import { classifyException } from '../classify-exception.js';
import type { LogFormat } from '../formats/contract.js';
import { failureLine } from './failure-line.js';

/** Classes that Python code raises for a reason the text tells; one of them begins the line of an exception whose traceback is missing. */
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
    samples: [
      {
        text: 'pretrain_gpt.py: error: unrecognized arguments: --use-fsdp3',
        rows: [{ row: 'failure', kind: 'config_error', text: 'unrecognized arguments: --use-fsdp3' }],
      },
      {
        text: "pretrain_gpt.py: error: argument --seq-length: invalid int value: '4k'",
        rows: [{ row: 'failure', kind: 'config_error', text: "argument --seq-length: invalid int value: '4k'" }],
      },
    ],
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
    samples: [
      {
        text: "Could not override 'trainer.num_node'.",
        rows: [{ row: 'failure', kind: 'config_error', text: "Could not override 'trainer.num_node'" }],
      },
      {
        text: "Key 'num_node' is not in struct",
        rows: [{ row: 'failure', kind: 'config_error', text: "Key 'num_node' is not in struct" }],
      },
    ],
  }),
  {
    form: 'line',
    id: 'python.exception_line',
    title: 'the last line of a traceback, with or without the traceback',
    producer: 'Python',
    versions: 'any',
    source: 'cpython Lib/traceback.py format_exception_only',
    anchors: CLASSES.map((name) => `${name}: `),
    fields: { exception: 'class, module included', message: 'what it says' },
    pattern: new RegExp(
      `^\\s{0,4}(?<exception>(?:[A-Za-z_]\\w{0,60}\\.){0,8}(?:${CLASSES.join('|')})): (?<message>\\S[^\\n]{0,2000})`,
      'g',
    ),
    read({ exception = '', message = '' }, emit) {
      const classified = classifyException(exception, message);
      if (classified === null) return;
      emit({ row: 'failure', kind: classified.kind, text: `${exception}: ${message.trim()}`, exception });
    },
    samples: [
      {
        text: 'ValueError: Currently there is no support for Pipeline parallelism with CPU offloading',
        rows: [
          {
            row: 'failure',
            kind: 'config_error',
            text: 'ValueError: Currently there is no support for Pipeline parallelism with CPU offloading',
            exception: 'ValueError',
          },
        ],
      },
      {
        // Reads like a notice about illegal memory access; it is the assertion.
        text: 'AssertionError: Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.',
        rows: [
          {
            row: 'failure',
            kind: 'config_error',
            text: 'AssertionError: Setting NCCL_GRAPH_REGISTER=0 to avoid illegal memory access when using CUDA Graph with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.',
            exception: 'AssertionError',
          },
        ],
      },
      {
        text: 'torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (node1, 29500).',
        rows: [
          {
            row: 'failure',
            kind: 'timeout',
            text: 'torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (node1, 29500).',
            exception: 'torch.distributed.DistNetworkError',
          },
        ],
      },
      { text: 'we saw ValueError: bad step in another run', rows: [] },
    ],
  },
];
