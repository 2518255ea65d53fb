/**
 * The one error type, and the closed list of possible errors.
 *
 * An error states neutral facts (file, offset, reason). The advice is stored with its code in this list, so that the
 * same failure always gives the same advice. The exit-code table is in `src/cli/exit-codes.ts` and is keyed by {@link
 * ErrorKind} alone.
 */
import { escapeControls } from './escape-controls.js';

/** Who has to act: the caller (`usage`), the bytes (`input`), the store file (`store`), or us (`internal`). */
export type ErrorKind = 'usage' | 'input' | 'store' | 'internal';

const REMEDY_RECOPY =
  'Copy the file again from where the run wrote it, and compare sizes; a rank killed while dumping leaves a cut file.';

/**
 * Every error code with what to do, in one sentence. The first digit is the kind. Codes are never reused;
 * `docs/errors.md` is tested against this list.
 */
export const ERROR_REMEDIES = {
  // usage
  MBF1001: 'See --help for the arguments this verb takes.',
  MBF1002: 'List what there is: `mbforensics runs`, `sources`, and `timeline` for the moments of a trace.',
  MBF1003: 'Check the path; name a run directory or a file that exists.',
  MBF1004: 'Name the files: mbforensics PATH. Or ingest a run first: mbforensics ingest PATH',
  MBF1005: 'Only statements that read are accepted: SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN.',
  MBF1006: 'Correct the statement; `mbforensics sql "SHOW TABLES"` lists the tables.',
  MBF1007: 'Name another file, or replace this one with --force.',
  MBF1008: 'Name a git checkout that has the commits (--repo DIR); `git fetch` brings missing ones.',
  MBF1009: 'See `mbforensics golden list`, or name a golden file or a run; `golden add RUN --name NAME` makes one.',
  MBF1010: 'Run the launch command by hand from this directory first; `--` precedes it.',
  MBF1011:
    'Let the launch command run `git submodule update --init --recursive` first: git bisect moves no submodules.',
  MBF1012:
    'Take golden values of a run with these settings, or allow them with --allow-change KEY; git bisect run then goes on.',
  MBF1013: 'Wait until it ends. If it does not run any more, remove this file.',
  // input: any file
  MBF2001: 'Fetch the real file (`git lfs pull`) and ingest that.',
  MBF2002: 'Download the raw file: a login or error page was saved in its place.',
  MBF2003: 'Export it as sqlite or parquetdir: nsys export --type sqlite FILE.nsys-rep',
  MBF2004: 'The writer ended before its first byte, or the disk was full; take the file from another rank or rerun.',
  MBF2005: 'Unpack it yourself and ingest the result if you trust it.',
  MBF2006: REMEDY_RECOPY,
  MBF2007: 'Check permissions and the file system; then ingest again.',
  MBF2008:
    'Nothing there is a training log, metrics, a configuration, a memory snapshot or an nsys export; see `ingest --explain`.',
  MBF2009: 'Ingest again once the writer has finished.',
  MBF2010:
    'This version reads text logs, metrics, configurations, memory snapshots and nsys exports; ingest those, unpacked.',
  MBF2011:
    'Ingest the file that the run wrote; no format that is read needs as much memory. The other files were read.',
  MBF2012: 'Ingest the file that the run wrote; no format that is read takes as long. The other files were read.',
  // input: pickles; from MBF2105 on, snapshots in any encoding
  MBF2101: REMEDY_RECOPY,
  MBF2102: 'A memory snapshot never needs this opcode. Do not load this file with Python: it may run code.',
  MBF2103: 'Dump it again with torch.cuda.memory._dump_snapshot(), or pickle.dump(..., protocol=4).',
  MBF2104: REMEDY_RECOPY,
  MBF2105: 'A snapshot written by torch stays far below this limit; the file is damaged or not a snapshot.',
  MBF2106: 'Expected the dict of torch.cuda.memory._snapshot() or the list of torch.cuda.memory_snapshot().',
  MBF2107: 'A field has a type torch never writes; if a tool rewrote this file, ingest the original.',
  // input: configurations
  MBF2201: 'A configuration has a few hundred settings; ingest the file that the run wrote, not one that carries data.',
  MBF2202: 'Correct the file at this place, or copy it again from where the run wrote it.',
  // input: JSON snapshots and memory_viz pages
  MBF2301: REMEDY_RECOPY,
  MBF2302: 'Correct what converted the snapshot, or ingest the pickle that it was converted from.',
  MBF2303: 'Ingest the snapshot pickle from which the page was made.',
  MBF2304: 'Save the page again, or ingest the snapshot pickle from which it was made.',
  // input: memory timelines of torch.profiler
  MBF2401: REMEDY_RECOPY,
  MBF2402: 'A value that torch never writes; if a tool rewrote this file, ingest the original.',
  MBF2403: 'Export it as raw events, which have no such limit: prof.export_memory_timeline("FILE.raw.json.gz").',
  MBF2404: 'Export the figures instead of the picture: prof.export_memory_timeline("FILE.raw.json.gz").',
  // input: traces
  MBF2501:
    '`mbforensics whatif replay` shows the first mismatch; record again with all actions, or ask about the recorded states: `state`, `peak`.',
  // input: files of the user's own
  MBF2601:
    'Correct the rule; `mbforensics explain rules --help` shows one, and `mbforensics explain rules test FILE` checks the file.',
  MBF2602:
    'Correct the format; `mbforensics explain formats --help` shows one, and `mbforensics explain formats LOG --formats FILE` tries the file.',
  // input: Nsight Systems exports
  MBF2701: 'Export it again from the report: nsys export --type sqlite --force-overwrite true FILE.nsys-rep',
  MBF2702:
    'Export it again from the report, or let the sqlite3 program write a plain copy: sqlite3 FILE "VACUUM INTO \'copy.sqlite\'"',
  MBF2703:
    'Nsight Systems databases have the tables StringIds and TARGET_INFO_* or META_DATA_EXPORT; export the report: nsys export --type sqlite FILE.nsys-rep',
  MBF2704: 'Export it again: nsys export --type sqlite FILE.nsys-rep',
  // input: golden values
  MBF2801:
    'Golden files are those of Megatron-LM, of Megatron Bridge, or of `mbforensics golden export`; take the file from its repository again.',
  MBF2802: 'Take a file of the same project, or compare runs: --preset default judges any two.',
  // input: TensorBoard event files
  MBF2901: REMEDY_RECOPY,
  MBF2902: 'A data set is made of the same records; ingest the events.out.tfevents.* files of the run.',
  // input: runs of Weights & Biases
  MBF2911: 'Copy run-ID.wandb again from the run directory (wandb/run-* or wandb/offline-run-*), and compare sizes.',
  MBF2912: 'Copy it again from `files/` of the run directory; run-ID.wandb contains the same.',
  // input: exported scalars
  MBF2921: 'Export it again from TensorBoard, W&B or the trainer, as CSV or JSON with its header.',
  MBF2922: REMEDY_RECOPY,
  // input: monitors of devices
  MBF2931: 'Write samples anew, for example: nvidia-smi --query-gpu=timestamp,index,memory.used --format=csv -l 1',
  MBF2932:
    'Put the fields of --query-gpu in front as the first line, in their order: timestamp, index, memory.used [MiB], memory.total [MiB]',
  // input: Slurm's accounting
  MBF2941: 'Ask again and keep the header: sacct --parsable2 --format=ALL -j JOBID',
  // input: Kubernetes
  MBF2951: 'Ask again: kubectl get pods,events -o json',
  // input: git repositories, and what bisections keep in them
  MBF2961: 'Clone the repository to a local disk and name the clone (--repo DIR): it has ordinary files and settings.',
  MBF2962:
    'Move it away and judge the commit again; `bisect report --session ID` names another bisection of the repository.',
  // store
  MBF3001: 'Another process has it open; wait for it, or use another store with --db.',
  MBF3002: 'Move the file away and ingest again, or name another store with --db.',
  MBF3003: 'Ingest the paths again into a new store (--db), or remove the file.',
  MBF3004: 'Name a store that mbforensics made, or a new path, with --db.',
  MBF3005: 'Check that the directory exists and is writable and that the disk is not full.',
  MBF3006: 'Check that the directory exists and is writable and that the disk is not full; nothing was left behind.',
  MBF3007: 'Something other than mbforensics changed this store; ingest the files into a new one with --db.',
  MBF3008:
    'The store has a value that mbforensics does not write, or this is a bug: ingest the files into a new store, and report it with the output of --debug if it is repeated.',
  // internal
  MBF9001: 'This is a bug in mbforensics; please report it with the output of --debug.',
} as const;

export type ErrorCode = keyof typeof ERROR_REMEDIES;

const KINDS: Readonly<Record<string, ErrorKind>> = { 1: 'usage', 2: 'input', 3: 'store', 9: 'internal' };

export function kindOfError(code: ErrorCode): ErrorKind {
  return KINDS[code.charAt('MBF'.length)]!;
}

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
    return kindOfError(this.code);
  }

  get remedy(): string {
    return ERROR_REMEDIES[this.code];
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
    // A parser's mark below a line of the statement points at nothing once both are one line.
    const lastLine = Math.max(0, this.message.trimEnd().lastIndexOf('\n'));
    const message = this.message.slice(lastLine).trim() === '^' ? this.message.slice(0, lastLine) : this.message;
    return oneLine(where === '' ? message : `${where}: ${message}`);
  }
}

/** An error is one line and moves no cursor: file names may contain line breaks and escape sequences. */
function oneLine(text: string): string {
  const [first = '', ...others] = text.split(/[\r\n]+/);
  if (others.length === 0) return escapeControls(text);
  return escapeControls(
    [first.trimEnd(), ...others.map((line) => line.trim())].filter((line) => line !== '').join(' '),
  );
}
