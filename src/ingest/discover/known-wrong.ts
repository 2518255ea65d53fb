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

/** Whether the name promises a log. */
/** As Nsight Systems names its exports; other databases are seldom called so. */
function isExportName(name: string): boolean {
  return /\.(?:nsys-)?sqlite$/i.test(name);
}

export function isLogName(name: string): boolean {
  return /\.(?:log|out|err|txt|output|stdout|stderr)(?:\.\d+)?$|^(?:stdout|stderr|output)(?:\.\d+)?$/i.test(name);
}

/** The report next to its export. */
function reportOf(name: string): string {
  return `${name.replace(/\.[^.]*$/, '')}.nsys-rep`;
}

function magic(bytes: string, what: string, at = 0): WrongRule['recognise'] {
  return (_head, text) => (text.startsWith(bytes, at) ? what : undefined);
}

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
  {
    // torchrun makes an empty stderr.log for every healthy rank: only an empty snapshot, or export, is a loss.
    id: 'empty-input',
    recognise: ({ bytes, name }) =>
      bytes.length === 0 && (isSnapshotName(name) || isExportName(name)) ? 'is empty' : undefined,
    code: 'MBF2004',
    status: 'failed',
  },
  {
    id: 'empty',
    recognise: ({ bytes }) => (bytes.length === 0 ? 'is empty' : undefined),
    code: 'MBF2004',
    status: 'skipped',
  },
  {
    // A node that crashed before its page cache was written leaves the right size and no content.
    id: 'only-zeros',
    recognise: ({ bytes }) =>
      bytes.every((byte) => byte === 0) ? `holds only zero bytes in its first ${bytes.length}` : undefined,
    code: 'MBF2006',
    status: 'by-name',
  },
  {
    id: 'git-lfs-pointer',
    recognise(_head, text) {
      if (!text.startsWith('version https://git-lfs.github.com/spec/v1')) return undefined;
      const size = /^size (\d+)$/m.exec(text)?.[1];
      return `is a Git LFS pointer${size === undefined ? '' : ` to ${size} bytes`}, not the file itself`;
    },
    code: 'MBF2001',
    status: 'by-name',
  },
  {
    // The viewer of 2022 drew from arrays made beforehand: no addresses, no segments, and no way back to them.
    id: 'memory-viz-arrays',
    recognise: (_head, text) =>
      HTML.test(text) && /\balloc_data\s{0,64}=\s{0,64}\{/.test(text)
        ? "is a page of torch's first memory viewer: it holds arrays prepared for drawing, no snapshot"
        : undefined,
    code: 'MBF2303',
    status: 'skipped',
  },
  {
    // torch.profiler's export_memory_timeline("….html"), and torch_npu's, whose title lacks the first word.
    id: 'profiler-timeline-page',
    recognise: (_head, text) =>
      HTML.test(text) && /<title>(?:GPU )?Memory Timeline HTML<\/title>/.test(text)
        ? "is a memory timeline of torch.profiler drawn as a picture: the page holds none of the timeline's figures"
        : undefined,
    code: 'MBF2404',
    status: 'skipped',
  },
  {
    id: 'error-page',
    recognise: ({ name }, text) =>
      isForeignPage(text) && (isSnapshotName(name) || isLogName(name) || ERROR_PAGE.test(text))
        ? 'is an HTML page'
        : undefined,
    code: 'MBF2002',
    status: 'by-name',
  },
  {
    id: 'html',
    recognise: (_head, text) => (isForeignPage(text) ? 'is an HTML page' : undefined),
    code: 'MBF2008',
    status: 'skipped',
  },
  {
    // What object stores answer with status 403 and 404; curl without -f saves it.
    id: 'object-store-error',
    recognise: (_head, text) =>
      /^\s*(?:<\?xml[^>]*\?>\s*)?<Error>\s*<Code>/.test(text) ? "is an object store's error message" : undefined,
    code: 'MBF2002',
    status: 'by-name',
  },
  {
    // Closed formats without a documented signature, so by name alone. Skipped and not failed: the exported .sqlite is
    // usually in the same folder.
    id: 'nsys-report',
    recognise: ({ name }) =>
      /\.(?:nsys-rep|qdrep|qdstrm)$/i.test(name)
        ? `is an Nsight Systems report, a closed format: ${exportCommand('sqlite', name)}`
        : undefined,
    code: 'MBF2003',
    status: 'skipped',
  },
  {
    id: 'nsys-arrow',
    recognise: ({ name }, text) =>
      /\.arrows$/i.test(name) || (text.startsWith('ARROW1') && /\.arrow$/i.test(name))
        ? `is an Arrow file, as Nsight Systems exports them, which is not read: ${exportCommand('sqlite', reportOf(name))}`
        : undefined,
    code: 'MBF2003',
    status: 'skipped',
  },
  {
    id: 'nsys-hdf5',
    recognise: ({ name }, text) =>
      text.startsWith('\x89HDF\r\n') &&
      (/\.h5$/i.test(name) || /CUPTI_ACTIVITY|TARGET_INFO_|META_DATA_EXPORT|StringIds/.test(text))
        ? `is an HDF5 file; if it is an export of Nsight Systems: ${exportCommand('sqlite', reportOf(name))}`
        : undefined,
    code: 'MBF2003',
    status: 'skipped',
  },
  {
    // One table of an export by folder, or a data set; the folder decides.
    id: 'parquet',
    recognise: magic('PAR1', 'is a Parquet file; of an export of Nsight Systems (TABLE.parquet), name its folder'),
    code: 'MBF2008',
    status: 'skipped',
  },
  {
    // Those that are exports, or are named as exports are, are the parser's.
    id: 'sqlite',
    recognise: ({ name }, text) =>
      text.startsWith('SQLite format 3\0') &&
      !isExportName(name) &&
      !/CUPTI_ACTIVITY_KIND|TARGET_INFO_|META_DATA|NVTX_EVENTS|ENUM_\w+|StringIds/.test(text)
        ? 'is an SQLite database, but none of Nsight Systems'
        : undefined,
    code: 'MBF2703',
    status: 'skipped',
  },
  { id: 'duckdb', recognise: magic('DUCK', 'is a DuckDB database', 8), code: 'MBF2008', status: 'skipped' },
  {
    id: 'torch-saved-snapshot',
    recognise: (_head, text) =>
      isZipOfTorchSave(text) && looksLikeSnapshot(text)
        ? 'is a snapshot wrapped by torch.save; not read yet'
        : undefined,
    code: 'MBF2010',
    status: 'skipped',
  },
  {
    id: 'torch-save',
    recognise: (_head, text) =>
      isZipOfTorchSave(text) || text.startsWith(OLD_TORCH_SAVE, 2)
        ? 'is a checkpoint written by torch.save, not a memory snapshot'
        : undefined,
    code: 'MBF2008',
    status: 'skipped',
  },
  { id: 'zip', recognise: magic('PK\x03\x04', 'is a zip archive'), code: 'MBF2008', status: 'skipped' },
  {
    // Protocol 0 is text: `(dp0` or `(lp0` for an empty dict or list, then its keys. Protocol 1 lacks a header too.
    id: 'old-pickle-protocol',
    recognise(_head, text) {
      const protocol = /^\([dl]p\d+\r?\n/.test(text) ? 0 : /^[}\]]q/.test(text) && text[2] === '\0' ? 1 : undefined;
      if (protocol === undefined || !looksLikeSnapshot(text)) return undefined;
      return `is a snapshot pickled with protocol ${protocol}, which torch never writes`;
    },
    code: 'MBF2103',
    status: 'failed',
  },
  {
    id: 'chrome-trace',
    recognise: (_head, text) =>
      /^\s*\{/.test(text) && /"(?:traceEvents|deviceProperties)"\s*:/.test(text)
        ? 'is a torch.profiler trace, not a memory snapshot'
        : undefined,
    code: 'MBF2008',
    status: 'skipped',
  },
  {
    id: 'xz',
    recognise: magic('\xfd7zXZ\0', 'is compressed with xz, which is not read; unpack it (xz -d) first'),
    code: 'MBF2010',
    status: 'skipped',
  },
  {
    id: 'bzip2',
    recognise: (_head, text) =>
      /^BZh[1-9]1AY&SY/.test(text)
        ? 'is compressed with bzip2, which is not read; unpack it (bzip2 -d) first'
        : undefined,
    code: 'MBF2010',
    status: 'skipped',
  },
  {
    id: 'lz4',
    recognise: magic('\x04\x22\x4d\x18', 'is compressed with lz4, which is not read; unpack it (lz4 -d) first'),
    code: 'MBF2010',
    status: 'skipped',
  },
  {
    // The byte source has already inflated once.
    id: 'nested-gzip',
    recognise: magic('\x1f\x8b\x08', 'is compressed twice, with gzip inside; unpack it once first'),
    code: 'MBF2010',
    status: 'skipped',
  },
  {
    id: 'nested-zstd',
    recognise: magic('\x28\xb5\x2f\xfd', 'is compressed twice, with zstd inside; unpack it once first'),
    code: 'MBF2010',
    status: 'skipped',
  },
  {
    // Recorders that can use either write it under the name of a snapshot.
    id: 'memray',
    recognise: magic('memray\0', 'is a recording of host memory by memray, not a snapshot of device memory'),
    code: 'MBF2008',
    status: 'skipped',
  },
  { id: 'tar', recognise: magic('ustar', 'is a tar archive', 257), code: 'MBF2008', status: 'skipped' },
  { id: 'elf', recognise: magic('\x7fELF', 'is machine code or a core dump'), code: 'MBF2008', status: 'skipped' },
  { id: 'numpy', recognise: magic('\x93NUMPY', 'is a NumPy array'), code: 'MBF2008', status: 'skipped' },
  { id: 'hdf5', recognise: magic('\x89HDF\r\n', 'is an HDF5 file'), code: 'MBF2008', status: 'skipped' },
  { id: 'png', recognise: magic('\x89PNG\r\n', 'is an image'), code: 'MBF2008', status: 'skipped' },
  { id: 'pdf', recognise: magic('%PDF-', 'is a PDF document'), code: 'MBF2008', status: 'skipped' },
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
