/**
 * Files that are known by their first bytes and that no parser of this version reads, with the error that helps: most
 * "corrupt snapshots" are pointers, login pages, checkpoints or empty files.
 */
import { type ErrorCode, MbfError } from '../../model/errors.js';
import type { Head } from '../../model/parser.js';

export interface KnownWrong {
  /** Id of the rule. */
  readonly rule: string;
  /**
   * `failed`: one of our inputs, unusable, which costs exit code 4. `skipped`: something else, or a form this version
   * does not read; an error only if the user named this very file.
   */
  readonly status: 'failed' | 'skipped';
  readonly error: MbfError;
}

interface WrongRule {
  readonly id: string;
  /** The fact, without the file; undefined if the rule does not apply. `text` is the head as latin1, made once. */
  readonly recognise: (head: Head, text: string) => string | undefined;
  readonly code: ErrorCode;
  /** `by-name`: failed if the name promises a snapshot or a log, else skipped. */
  readonly status: 'failed' | 'skipped' | 'by-name';
}

/** Whether the name promises a memory snapshot. */
export function isSnapshotName(name: string): boolean {
  return /\.(?:pickle|pkl)$/i.test(name);
}

/** As Nsight Systems names its exports; other databases are seldom called so. */
function isExportName(name: string): boolean {
  return /\.(?:nsys-)?sqlite$/i.test(name);
}

/** Whether the name promises a log. */
export function isLogName(name: string): boolean {
  return /\.(?:log|out|err|txt|output|stdout|stderr)(?:\.\d+)?$|^(?:stdout|stderr|output)(?:\.\d+)?$/i.test(name);
}

/** The report next to its export. */
function reportOf(name: string): string {
  return `${name.replace(/\.[^.]*$/, '')}.nsys-rep`;
}

/** A rule whose fact does not depend on the file. */
const when =
  (applies: (text: string, head: Head) => boolean, fact: string): WrongRule['recognise'] =>
  (head, text) =>
    applies(text, head) ? fact : undefined;
const magic = (bytes: string, fact: string, at = 0) => when((text) => text.startsWith(bytes, at), fact);

const packed = (by: string): string => `is compressed with ${by}, which is not read; unpack it (${by} -d) first`;
const packedTwice = (by: string): string => `is compressed twice, with ${by} inside; unpack it once first`;

const ruleOf =
  (status: WrongRule['status']) =>
  (id: string, code: ErrorCode, recognise: WrongRule['recognise']): WrongRule => ({ id, code, recognise, status });
const failed = ruleOf('failed');
const skipped = ruleOf('skipped');
const byName = ruleOf('by-name');

const HTML = /^(?:\u00ef\u00bb\u00bf)?\s*(?:<!--[^>]*-->\s*)?<(?:!doctype\s+html|html|head)\b/i;
/** Titles of pages that are served in place of a download. */
const ERROR_PAGE =
  /<title>[^<]*(?:sign.?in|log.?in|single sign|sso\b|authenti|not found|forbidden|denied|unauthori[sz]ed|error|expired|unavailable|\b[45]\d\d\b)/i;
/** A page other than torch's memory viewer: those may carry a snapshot, and their parser reports errors. */
function isForeignPage(text: string): boolean {
  return HTML.test(text) && !/MemoryViz\.js|add_local_files|local_files\s{0,64}=\s{0,64}\[/.test(text);
}

/**
 * Keys that occur in the first 64 KiB of a snapshot in whatever encoding; `active_size` marks the bare segment list.
 */
function looksLikeSnapshot(text: string): boolean {
  return text.includes('device_traces') || (text.includes('total_size') && text.includes('active_size'));
}

/** Begins the pickle of torch.save before torch 1.6, after the two bytes of PROTO: LONG1 0x1950a86a20f9469cfc6c. */
const OLD_TORCH_SAVE = '\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19';

function isZipOfTorchSave(text: string): boolean {
  return text.startsWith('PK\x03\x04') && text.includes('/data.pkl');
}

/** The first match wins: content that names itself comes before content judged by the file's name. */
const WRONG_RULES: readonly WrongRule[] = [
  // torchrun makes an empty stderr.log for every healthy rank: only an empty snapshot, or export, is a loss.
  failed(
    'empty-input',
    'MBF2004',
    when((_, { bytes, name }) => bytes.length === 0 && (isSnapshotName(name) || isExportName(name)), 'is empty'),
  ),
  skipped(
    'empty',
    'MBF2004',
    when((_, { bytes }) => bytes.length === 0, 'is empty'),
  ),
  // A node that crashed before its page cache was written leaves the right size and no content.
  byName('only-zeros', 'MBF2006', ({ bytes }) =>
    bytes.every((byte) => byte === 0) ? `holds only zero bytes in its first ${bytes.length}` : undefined,
  ),
  byName('git-lfs-pointer', 'MBF2001', (_head, text) => {
    if (!text.startsWith('version https://git-lfs.github.com/spec/v1')) return undefined;
    const size = /^size (\d+)$/m.exec(text)?.[1];
    return `is a Git LFS pointer${size === undefined ? '' : ` to ${size} bytes`}, not the file itself`;
  }),
  // The viewer of 2022 drew from arrays made beforehand: no addresses, no segments, and no way back to them.
  skipped(
    'memory-viz-arrays',
    'MBF2303',
    when(
      (text) => HTML.test(text) && /\balloc_data\s{0,64}=\s{0,64}\{/.test(text),
      "is a page of torch's first memory viewer: it holds arrays prepared for drawing, no snapshot",
    ),
  ),
  // torch.profiler's export_memory_timeline("….html"), and torch_npu's, whose title lacks the first word.
  skipped(
    'profiler-timeline-page',
    'MBF2404',
    when(
      (text) => HTML.test(text) && /<title>(?:GPU )?Memory Timeline HTML<\/title>/.test(text),
      "is a memory timeline of torch.profiler drawn as a picture: the page holds none of the timeline's figures",
    ),
  ),
  byName(
    'error-page',
    'MBF2002',
    when(
      (text, { name }) => isForeignPage(text) && (isSnapshotName(name) || isLogName(name) || ERROR_PAGE.test(text)),
      'is an HTML page',
    ),
  ),
  skipped('html', 'MBF2008', when(isForeignPage, 'is an HTML page')),
  // What object stores answer with status 403 and 404; curl without -f saves it.
  byName(
    'object-store-error',
    'MBF2002',
    when((text) => /^\s*(?:<\?xml[^>]*\?>\s*)?<Error>\s*<Code>/.test(text), "is an object store's error message"),
  ),
  // Closed formats without a documented signature, so by name alone. Skipped and not failed: the exported .sqlite is
  // usually in the same folder.
  skipped('nsys-report', 'MBF2003', ({ name }) =>
    /\.(?:nsys-rep|qdrep|qdstrm)$/i.test(name)
      ? `is an Nsight Systems report, a closed format: ${exportCommand('sqlite', name)}`
      : undefined,
  ),
  skipped('nsys-arrow', 'MBF2003', ({ name }, text) =>
    /\.arrows$/i.test(name) || (text.startsWith('ARROW1') && /\.arrow$/i.test(name))
      ? `is an Arrow file, as Nsight Systems exports them, which is not read: ${exportCommand('sqlite', reportOf(name))}`
      : undefined,
  ),
  skipped('nsys-hdf5', 'MBF2003', ({ name }, text) =>
    text.startsWith('\x89HDF\r\n') &&
    (/\.h5$/i.test(name) || /CUPTI_ACTIVITY|TARGET_INFO_|META_DATA_EXPORT|StringIds/.test(text))
      ? `is an HDF5 file; if it is an export of Nsight Systems: ${exportCommand('sqlite', reportOf(name))}`
      : undefined,
  ),
  // One table of an export by folder, or a data set; the folder decides.
  skipped(
    'parquet',
    'MBF2008',
    magic('PAR1', 'is a Parquet file; of an export of Nsight Systems (TABLE.parquet), name its folder'),
  ),
  // Those that are exports, or are named as exports are, are the parser's.
  skipped(
    'sqlite',
    'MBF2703',
    when(
      (text, { name }) =>
        text.startsWith('SQLite format 3\0') &&
        !isExportName(name) &&
        !/CUPTI_ACTIVITY_KIND|TARGET_INFO_|META_DATA|NVTX_EVENTS|ENUM_\w+|StringIds/.test(text),
      'is an SQLite database, but none of Nsight Systems',
    ),
  ),
  skipped('duckdb', 'MBF2008', magic('DUCK', 'is a DuckDB database', 8)),
  skipped(
    'torch-saved-snapshot',
    'MBF2010',
    when(
      (text) => isZipOfTorchSave(text) && looksLikeSnapshot(text),
      'is a snapshot wrapped by torch.save; not read yet',
    ),
  ),
  skipped(
    'torch-save',
    'MBF2008',
    when(
      (text) => isZipOfTorchSave(text) || text.startsWith(OLD_TORCH_SAVE, 2),
      'is a checkpoint written by torch.save, not a memory snapshot',
    ),
  ),
  skipped('zip', 'MBF2008', magic('PK\x03\x04', 'is a zip archive')),
  // Protocol 0 is text: `(dp0` or `(lp0` for an empty dict or list, then its keys. Protocol 1 lacks a header too.
  failed('old-pickle-protocol', 'MBF2103', (_head, text) => {
    const protocol = /^\([dl]p\d+\r?\n/.test(text) ? 0 : /^[}\]]q/.test(text) && text[2] === '\0' ? 1 : undefined;
    if (protocol === undefined || !looksLikeSnapshot(text)) return undefined;
    return `is a snapshot pickled with protocol ${protocol}, which torch never writes`;
  }),
  skipped(
    'chrome-trace',
    'MBF2008',
    when(
      (text) => /^\s*\{/.test(text) && /"(?:traceEvents|deviceProperties)"\s*:/.test(text),
      'is a torch.profiler trace, not a memory snapshot',
    ),
  ),
  skipped('xz', 'MBF2010', magic('\xfd7zXZ\0', packed('xz'))),
  skipped(
    'bzip2',
    'MBF2010',
    when((text) => /^BZh[1-9]1AY&SY/.test(text), packed('bzip2')),
  ),
  skipped('lz4', 'MBF2010', magic('\x04\x22\x4d\x18', packed('lz4'))),
  // The byte source has already inflated once.
  skipped('nested-gzip', 'MBF2010', magic('\x1f\x8b\x08', packedTwice('gzip'))),
  skipped('nested-zstd', 'MBF2010', magic('\x28\xb5\x2f\xfd', packedTwice('zstd'))),
  // Recorders that can use either write it under the name of a snapshot.
  skipped(
    'memray',
    'MBF2008',
    magic('memray\0', 'is a recording of host memory by memray, not a snapshot of device memory'),
  ),
  skipped('tar', 'MBF2008', magic('ustar', 'is a tar archive', 257)),
  skipped('elf', 'MBF2008', magic('\x7fELF', 'is machine code or a core dump')),
  skipped('numpy', 'MBF2008', magic('\x93NUMPY', 'is a NumPy array')),
  skipped('hdf5', 'MBF2008', magic('\x89HDF\r\n', 'is an HDF5 file')),
  skipped('png', 'MBF2008', magic('\x89PNG\r\n', 'is an image')),
  skipped('pdf', 'MBF2008', magic('%PDF-', 'is a PDF document')),
];

/** How to get a form that is read. */
export function exportCommand(form: 'sqlite' | 'parquetdir', report: string): string {
  return `nsys export --type ${form} ${/^[\w.,:/@+-]+$/.test(report) ? report : `'${report.replaceAll("'", "'\\''")}'`}`;
}

/** The first rule that knows these bytes, or undefined if they deserve a parser. Looks at the head alone. */
export function recogniseWrong(head: Head): KnownWrong | undefined {
  const text = Buffer.from(head.bytes.buffer, head.bytes.byteOffset, head.bytes.length).toString('latin1');
  for (const rule of WRONG_RULES) {
    const fact = rule.recognise(head, text);
    if (fact === undefined) continue;
    const isExpected = isSnapshotName(head.name) || isLogName(head.name) || isExportName(head.name);
    const status = rule.status === 'by-name' ? (isExpected ? 'failed' : 'skipped') : rule.status;
    return { rule: rule.id, status, error: new MbfError(rule.code, fact) };
  }
  return undefined;
}
