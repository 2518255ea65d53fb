/**
 * The one error type, and the closed list of possible errors.
 *
 * An error states neutral facts (file, offset, reason). The advice is stored with its code in this list, so that the
 * same failure always gives the same advice. The exit-code table is in `src/cli/exit-codes.ts` and is keyed by {@link
 * ErrorKind} alone.
 */

/** Who has to act: the caller (`usage`), the bytes (`input`), the store file (`store`), or us (`internal`). */
export type ErrorKind = 'usage' | 'input' | 'store' | 'internal';

interface ErrorEntry {
  readonly kind: ErrorKind;
  /** What to do, in one sentence. */
  readonly remedy: string;
}

const REMEDY_RECOPY =
  'Copy the file again from where the run wrote it, and compare sizes; a rank killed while dumping leaves a cut file.';

/** Every error code. Codes are never reused; `docs/errors.md` is tested against this list. */
export const ERROR_CODES = {
  // usage
  MBF1001: { kind: 'usage', remedy: 'See --help for the arguments this verb takes.' },
  MBF1002: {
    kind: 'usage',
    remedy: 'List what there is: `mbforensics runs`, `sources`, and `timeline` for the moments of a trace.',
  },
  MBF1003: { kind: 'usage', remedy: 'Check the path; name a run directory or a file that exists.' },
  MBF1004: { kind: 'usage', remedy: 'Ingest a run first: mbforensics ingest run/' },
  MBF1005: {
    kind: 'usage',
    remedy: 'Only statements that read are accepted: SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN.',
  },
  MBF1006: { kind: 'usage', remedy: 'Correct the statement; `mbforensics sql "SHOW TABLES"` lists the tables.' },
  MBF1007: { kind: 'usage', remedy: 'Name another file, or replace this one with --force.' },
  MBF1008: {
    kind: 'usage',
    remedy: 'Name a git checkout that has the commits (--repo DIR); `git fetch` brings missing ones.',
  },
  MBF1009: {
    kind: 'usage',
    remedy: 'See `mbforensics golden list`, or name a golden file or a run; `golden add RUN --name NAME` makes one.',
  },
  MBF1010: {
    kind: 'usage',
    remedy: 'Run the launch command by hand from this directory first; `--` stands before it.',
  },
  MBF1011: {
    kind: 'usage',
    remedy:
      'Let the launch command run `git submodule update --init --recursive` first: git bisect moves no submodules.',
  },
  // input: any file
  MBF2001: { kind: 'input', remedy: 'Fetch the real file (`git lfs pull`) and ingest that.' },
  MBF2002: { kind: 'input', remedy: 'Download the raw file: a login or error page was saved in its place.' },
  MBF2003: { kind: 'input', remedy: 'Export it as sqlite or parquetdir: nsys export --type sqlite FILE.nsys-rep' },
  MBF2004: {
    kind: 'input',
    remedy: 'The writer died before its first byte, or the disk was full; take the file from another rank or rerun.',
  },
  MBF2005: { kind: 'input', remedy: 'Unpack it yourself and ingest the result if you trust it.' },
  MBF2006: { kind: 'input', remedy: REMEDY_RECOPY },
  MBF2007: { kind: 'input', remedy: 'Check permissions and the file system; then ingest again.' },
  MBF2008: {
    kind: 'input',
    remedy:
      'Nothing there is a training log, metrics, a configuration, a memory snapshot or an nsys export; see `ingest --explain`.',
  },
  MBF2009: { kind: 'input', remedy: 'Ingest again once the writer has finished.' },
  MBF2010: {
    kind: 'input',
    remedy:
      'This version reads text logs, metrics, configurations, memory snapshots and nsys exports; ingest those, unpacked.',
  },
  // input: pickles; from MBF2105 on, snapshots in any encoding
  MBF2101: { kind: 'input', remedy: REMEDY_RECOPY },
  MBF2102: {
    kind: 'input',
    remedy: 'A memory snapshot never needs this opcode. Do not load this file with Python: it may run code.',
  },
  MBF2103: {
    kind: 'input',
    remedy: 'Dump it again with torch.cuda.memory._dump_snapshot(), or pickle.dump(..., protocol=4).',
  },
  MBF2104: { kind: 'input', remedy: REMEDY_RECOPY },
  MBF2105: {
    kind: 'input',
    remedy: 'A snapshot written by torch stays far below this limit; the file is damaged or not a snapshot.',
  },
  MBF2106: {
    kind: 'input',
    remedy: 'Expected the dict of torch.cuda.memory._snapshot() or the list of torch.cuda.memory_snapshot().',
  },
  MBF2107: {
    kind: 'input',
    remedy: 'A field has a type torch never writes; if a tool rewrote this file, ingest the original.',
  },
  // input: configurations
  MBF2201: {
    kind: 'input',
    remedy:
      'A configuration has a few hundred settings; ingest the file that the run wrote, not one that carries data.',
  },
  MBF2202: {
    kind: 'input',
    remedy: 'Correct the file where it says, or copy it again from where the run wrote it.',
  },
  // input: JSON snapshots and memory_viz pages
  MBF2301: { kind: 'input', remedy: REMEDY_RECOPY },
  MBF2302: {
    kind: 'input',
    remedy: 'Correct what converted the snapshot, or ingest the pickle that it was converted from.',
  },
  MBF2303: { kind: 'input', remedy: 'Ingest the snapshot pickle from which the page was made.' },
  MBF2304: { kind: 'input', remedy: 'Save the page again, or ingest the snapshot pickle from which it was made.' },
  // input: memory timelines of torch.profiler
  MBF2401: { kind: 'input', remedy: REMEDY_RECOPY },
  MBF2402: {
    kind: 'input',
    remedy: 'A value that torch never writes; if a tool rewrote this file, ingest the original.',
  },
  MBF2403: {
    kind: 'input',
    remedy: 'Export it as raw events, which have no such limit: prof.export_memory_timeline("FILE.raw.json.gz").',
  },
  MBF2404: {
    kind: 'input',
    remedy: 'Export the figures instead of the picture: prof.export_memory_timeline("FILE.raw.json.gz").',
  },
  // input: traces
  MBF2501: {
    kind: 'input',
    remedy:
      '`mbforensics replay` shows the first mismatch; record again with all actions, or ask about the recorded states: `at`, `peak`.',
  },
  // input: files of the user's own
  MBF2601: {
    kind: 'input',
    remedy:
      'Correct the rule; `mbforensics rules --help` shows one, and `mbforensics rules test FILE` checks the file.',
  },
  // input: Nsight Systems exports
  MBF2701: {
    kind: 'input',
    remedy: 'Export it again from the report: nsys export --type sqlite --force-overwrite true FILE.nsys-rep',
  },
  MBF2702: {
    kind: 'input',
    remedy:
      'Export it again from the report, or let the sqlite3 program write a plain copy: sqlite3 FILE "VACUUM INTO \'copy.sqlite\'"',
  },
  MBF2703: {
    kind: 'input',
    remedy:
      'Nsight Systems databases have the tables StringIds and TARGET_INFO_* or META_DATA_EXPORT; export the report: nsys export --type sqlite FILE.nsys-rep',
  },
  MBF2704: { kind: 'input', remedy: 'Export it again: nsys export --type sqlite FILE.nsys-rep' },
  // input: golden values
  MBF2801: {
    kind: 'input',
    remedy:
      'Golden files are those of Megatron-LM, of Megatron Bridge, or of `mbforensics golden export`; take the file from its repository again.',
  },
  MBF2802: {
    kind: 'input',
    remedy: 'Take a file of the same project, or compare runs: --preset default judges any two.',
  },
  // input: TensorBoard event files
  MBF2901: { kind: 'input', remedy: REMEDY_RECOPY },
  MBF2902: {
    kind: 'input',
    remedy: 'A data set is made of the same records; ingest the events.out.tfevents.* files of the run.',
  },
  // input: runs of Weights & Biases
  MBF2911: {
    kind: 'input',
    remedy: 'Copy run-ID.wandb again from the run directory (wandb/run-* or wandb/offline-run-*), and compare sizes.',
  },
  MBF2912: { kind: 'input', remedy: 'Copy it again from `files/` of the run directory; run-ID.wandb says the same.' },
  // input: exported scalars
  MBF2921: {
    kind: 'input',
    remedy: 'Export it again from TensorBoard, W&B or the trainer, as CSV or JSON with its header.',
  },
  MBF2922: { kind: 'input', remedy: REMEDY_RECOPY },
  // input: monitors of devices
  MBF2931: {
    kind: 'input',
    remedy: 'Write samples anew, for example: nvidia-smi --query-gpu=timestamp,index,memory.used --format=csv -l 1',
  },
  MBF2932: {
    kind: 'input',
    remedy:
      'Put the fields of --query-gpu in front as the first line, in their order: timestamp, index, memory.used [MiB], memory.total [MiB]',
  },
  // input: Slurm's accounting
  MBF2941: { kind: 'input', remedy: 'Ask again and keep the header: sacct --parsable2 --format=ALL -j JOBID' },
  // input: Kubernetes
  MBF2951: { kind: 'input', remedy: 'Ask again: kubectl get pods,events -o json' },
  // store
  MBF3001: { kind: 'store', remedy: 'Another process has it open; wait for it, or use another store with --db.' },
  MBF3002: { kind: 'store', remedy: 'Move the file away and ingest again, or name another store with --db.' },
  MBF3003: { kind: 'store', remedy: 'Update mbforensics, or use another store with --db.' },
  MBF3004: { kind: 'store', remedy: 'Name a store that mbforensics made, or a new path, with --db.' },
  MBF3005: { kind: 'store', remedy: 'Check that the directory exists and is writable and that the disk is not full.' },
  MBF3006: {
    kind: 'store',
    remedy: 'Check that the directory exists and is writable and that the disk is not full; nothing was left behind.',
  },
  // internal
  MBF9001: { kind: 'internal', remedy: 'This is a bug in mbforensics; please report it with the output of --debug.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Where in which input something is wrong. `offset` is in bytes of the decompressed stream, `line` is 1-based. */
export interface ErrorPlace {
  readonly file?: string | undefined;
  readonly offset?: number | undefined;
  readonly line?: number | undefined;
}

/** The only error thrown on purpose; anything else reaching the CLI is a bug (exit 70). */
export class MbfError extends Error {
  readonly code: ErrorCode;
  readonly place: ErrorPlace;

  constructor(code: ErrorCode, fact: string, place: ErrorPlace = {}, cause?: unknown) {
    super(fact, cause === undefined ? undefined : { cause });
    this.name = 'MbfError';
    this.code = code;
    this.place = place;
  }

  get kind(): ErrorKind {
    return ERROR_CODES[this.code].kind;
  }

  get remedy(): string {
    return ERROR_CODES[this.code].remedy;
  }

  /** The same error, now knowing its file (parsers know offsets, not paths). */
  inFile(file: string): MbfError {
    return new MbfError(this.code, this.message, { ...this.place, file }, this.cause);
  }

  /** `FILE at byte N: fact` without code and remedy. */
  describe(): string {
    const { file, offset, line } = this.place;
    const where = [
      file ?? '',
      line === undefined ? '' : `line ${line}`,
      offset === undefined ? '' : `at byte ${offset}`,
    ]
      .filter((part) => part !== '')
      .join(' ');
    return oneLine(where === '' ? this.message : `${where}: ${this.message}`);
  }
}

/**
 * File names and texts of a file may hold line breaks and escape sequences; an error is one line, and moves no cursor.
 */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}
