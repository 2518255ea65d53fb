import type { LogFormat } from '../formats/contract.js';
import { failureLine } from './failure-line.js';

/** A process that the system or its own run-time library ended, and results that made no sense. */
export const CRASH_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'process.crash',
    title: 'segmentation faults, heap corruption, aborts',
    producer: 'glibc, CPython, UCX, shells',
    versions: 'any',
    source: 'glibc malloc/malloc.c; cpython Python/pylifecycle.c; ucx src/ucs/debug/debug.c',
    anchors: [
      'Segmentation fault',
      'Fatal Python error',
      'double free or corruption',
      'free(): invalid',
      'free(): corrupted',
      'free(): double free',
      'malloc(): ',
      'malloc_consolidate()',
      'munmap_chunk()',
      'corrupted size vs. prev_size',
      'corrupted double-linked list',
      'Segfault encountered',
      'Fatal glibc error',
      'stack smashing detected',
      '(core dumped)',
      'Caught signal ',
      'illegal instruction',
    ],
    kind: 'other',
    pattern:
      /(?<text>Fatal Python error: [^\n]{1,100}|(?:double free or corruption|free\(\): (?:invalid|corrupted|double free)|malloc\(\): |malloc_consolidate\(\): |munmap_chunk\(\): )[^\n]{0,60}|corrupted (?:size vs\. prev_size|double-linked list)|Segfault encountered|Fatal glibc error[^\n]{0,100}|\*\*\* stack smashing detected \*\*\*|Caught signal \d{1,2} \([^)\n]{1,80}\)|CUDA error: an illegal instruction was encountered|(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception) {0,40}\(core dumped\)|Segmentation fault(?! {0,40}\())/g,
  }),
  failureLine({
    id: 'process.killed',
    title: 'a process got SIGKILL, as its shell reports it; nothing shows who sent it',
    producer: 'bash',
    versions: 'any; the bare word is found where it is a line',
    source: 'bash jobs.c, print_pipeline; signal(7)',
    anchors: [' Killed   '],
    kind: 'killed',
    pattern:
      /(?<text>^Killed(?=\s{0,8}$)|(?:\bline \d{1,7}:|^\[\d{1,4}\][+-]?)\s{1,8}(?:(?<pid>\d{1,10}) )?Killed(?= {3}))/g,
  }),
  failureLine({
    id: 'process.interrupted',
    title: 'a user interrupted the program',
    producer: 'CPython, PyTorch Lightning',
    versions: 'any',
    source: 'cpython Modules/signalmodule.c, default_int_handler; lightning/pytorch/trainer/call.py',
    anchors: ['KeyboardInterrupt'],
    kind: 'cancelled',
    pattern: /(?<text>^KeyboardInterrupt(?=\s{0,8}$|:)|Detected KeyboardInterrupt[^\n]{0,60})/g,
  }),
  failureLine({
    id: 'process.signalled',
    title: 'a handler of the program reports a signal that ends it',
    producer: 'Megatron-LM, NeMo, PyTorch Lightning, training scripts',
    versions: 'any',
    source: 'megatron/training/dist_signal_handler.py; lightning/pytorch/trainer/connectors/signal_connector.py',
    anchors: [
      'eceived SIGTERM',
      'eceived SIGINT',
      'eceived signal ',
      'SIGTERM received',
      'SIGINT received',
      'aught signal 15',
    ],
    kind: 'cancelled',
    pattern:
      /(?<text>(?<!after |process )[Rr]eceived (?:SIGTERM|SIGINT|signal:? (?:15|2|SIGTERM|SIGINT)\b)[^\n]{0,60}|(?<!\*\*\* )(?:SIGTERM|SIGINT) received(?! at time)[^\n]{0,60}|[Cc]aught signal 15\b[^\n]{0,60})/g,
  }),
  failureLine({
    id: 'megatron.bad_numbers',
    title: 'a loss or gradient is NaN or infinite',
    producer: 'Megatron-LM, DeepSpeed',
    versions: 'any; Megatron-LM core 0.10 and later through the rerun state machine',
    source:
      'Megatron-LM pretrain_gpt.py loss_func, megatron/core/rerun_state_machine.py; deepspeed runtime/fp16/loss_scaler.py',
    anchors: [
      'found NaN in',
      'found Inf in',
      'Unexpected result nan',
      'Unexpected result inf',
      'Current loss scale already at minimum',
    ],
    kind: 'other',
    pattern:
      /(?:Rank (?<rank>\d{1,6})(?:, node [\w.-]{1,64}, device \d{1,3}, iteration \d{1,12})?: )?(?<text>(?:Unexpected result (?:nan|inf)[^\n]{0,200}|found (?:NaN|Inf) in [^\n.]{1,120}|Current loss scale already at minimum[^\n]{0,80}))/g,
  }),
  failureLine({
    id: 'data.exhausted',
    title: 'the data came to its end',
    producer: 'Megatron-LM',
    versions: 'any',
    source: 'Megatron-LM megatron/legacy/data/data_samplers.py, megatron/training/datasets/data_samplers.py',
    anchors: ['no samples left to consume', 'no sample to consume', 'EOFError: No data left in file'],
    kind: 'other',
    pattern:
      /(?<text>no samples left to consume(?:: \d{1,15}, \d{1,15})?|no sample to consume(?:: \d{1,15})?|EOFError: No data left in file)/g,
  }),
  failureLine({
    id: 'filesystem.failed',
    title: 'a file system is full, gone or broken',
    producer: 'Linux',
    versions: 'any',
    source: 'errno(3): ENOSPC, EDQUOT, EROFS, ESTALE, EIO',
    anchors: [
      'No space left on device',
      'Disk quota exceeded',
      'Read-only file system',
      'Stale file handle',
      'Input/output error',
    ],
    kind: (groups) => (/creating shared memory/.test(groups['text'] ?? '') ? null : 'other'),
    pattern:
      /(?<text>(?:\[Errno \d{1,3}\] )?(?:No space left on device(?: while creating shared memory)?|Disk quota exceeded|Read-only file system|Stale file handle|Input\/output error)(?:: '[^'\n]{1,300}')?)/g,
  }),
];
