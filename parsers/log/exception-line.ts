/** The line of a Python traceback that names the exception, and the frames before it. */

/** A place in source code. */
export interface TracebackFrame {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  /** The line of code as printed below it; missing where none is. */
  readonly source?: string;
}

/** Class as printed, module included; empty message where none is printed. */
export interface ExceptionLine {
  readonly name: string;
  readonly message: string;
}

const FRAME = /File "([^"\n]{1,1000})", line (\d{1,9})(?:, in (\S[^\n]{0,199}))?/;
/** rich and `rich.traceback`: `│ /path/train.py:31 in main    │`. */
const RICH_FRAME = /^\s{0,64}[│|]\s(\S[^│|\n]{0,500}):(\d{1,9}) in (\S{1,200})/;

export function readFrame(text: string): TracebackFrame | null {
  const match = FRAME.exec(text) ?? RICH_FRAME.exec(text);
  if (match === null) return null;
  return { file: match[1]!, line: Number(match[2]), function: match[3]?.trim() ?? '' };
}

const DOTTED = /^([A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,12})(?::(?:\s|$)|$)/;
/** What exceptions are called: by Python's and every library's habit, or one of the few that do not follow it. */
const NAMED_LIKE_ONE =
  /(?:Error|Exception|Exit|Interrupt|Warning|Iteration|Failure|Group|OutOfResources|Timeout|Timed[oO]ut|Expired|Abort(?:ed)?|Cancelled|Refused|Unavailable|NotFound|Stop)$/;
const ODD_NAMES: ReadonlySet<string> = new Set(['gaierror', 'herror', 'timeout', 'error', 'Empty', 'Full', 'Fault']);
/** Words that begin log lines, not exceptions. */
const CAPITALS = /^[A-Z\d_]{2,}$/;

/**
 * `torch.OutOfMemoryError: CUDA …`, `KeyboardInterrupt`. With `sure` (the line directly follows a frame) any class-like
 * name counts; without, only a name that looks like an exception's.
 */
export function readException(text: string, sure: boolean): ExceptionLine | null {
  const match = DOTTED.exec(text);
  if (match === null) return null;
  const name = match[1]!;
  const last = name.slice(name.lastIndexOf('.') + 1);
  const classLike = /^_?[A-Z]/.test(last) && !CAPITALS.test(last);
  if (!NAMED_LIKE_ONE.test(last) && !ODD_NAMES.has(last) && !(sure && classLike)) return null;
  return { name, message: text.slice(name.length + 1).trim() };
}

const LIBRARY =
  /(?:^|[/\\])(?:site-packages|dist-packages)[/\\]|[/\\]lib(?:64)?[/\\]python3?(?:\.\d{1,2})?[/\\]|[/\\]torch[/\\](?:_\w{1,30}|nn|autograd|distributed|cuda|utils|optim|serialization|multiprocessing|fx|amp|compiler|functional|jit|accelerator)(?:[/\\]|\.py$)|[/\\]transformer_engine[/\\]|^<(?!stdin)/;
/** Installed, but the code people change: an error in it is theirs to look at. */
const MEGATRON_PATH =
  /[/\\](?:megatron|nemo|nemo_automodel|nemo_rl|nemo_aligner|megatron_patch|deepspeed_megatron)[/\\]/;

/**
 * Code of the run, Megatron and NeMo included wherever they are installed; not torch, Transformer Engine and the
 * standard library.
 */
export function isUserCode(file: string): boolean {
  return MEGATRON_PATH.test(file) || !LIBRARY.test(file);
}
