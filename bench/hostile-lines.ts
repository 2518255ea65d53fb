/** Logs made to keep the reader busy: one text, repeated to the size of the file. */
const TRACEBACK = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in main\n    step()\n';
const OOM = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n';

/** What is repeated, by what it is. */
export const HOSTILE_LINES: Readonly<Record<string, string>> = {
  'carriage returns': '\r',
  'blank lines': '\n',
  'one line of digits': '1234567890',
  'one line of timestamps': '2026-01-02 03:04:05,678 ',
  'JSON lines': '{"a": 1, "b": [1, 2, 3], "c": {"d": "e"}}\n',
  'ANSI colours': '\u001b[31mred\u001b[0m\n',
  'rank prefixes': '[rank0]:',
  'progress bar': 'Epoch 1: 10%|#     | 10/100 [00:01<00:09, 10.00it/s]\r',
  'progress bar at tenths': '\r 10%|███▌      | 10/100 [00:01<00:09, 10.00it/s]',
  'headers of tracebacks': 'Traceback (most recent call last):\n',
  'CUDA out of memory, \\r': 'CUDA out of memory\r',
  'failure lines': OOM,
  'failure lines of 512 ranks': Array.from({ length: 512 }, (_, rank) => `[rank${rank}]: ${OOM}`).join(''),
  tracebacks: `${TRACEBACK}RuntimeError: bad\n`,
  'lines of Killed': 'Killed\n',
};
