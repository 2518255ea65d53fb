import { loadData } from '../../src/knowledge/load-data.js';
import { oomGrammar } from '../../src/knowledge/oom-messages.js';
import type { Head, Sniff } from '../../src/model/parser.js';
import { type Container, containerOf, unwrapHead } from '../../src/text/log-container.js';
import { LiteralScanner } from './literal-scanner.js';

interface Mark {
  readonly literal: string;
  readonly what: string;
}
/** Lines that only logs of training jobs have, and further ones of documents, whose names are not those of logs. */
const { logs: LOG_MARKS, documents } = loadData('inputs/log-marks') as Record<'logs' | 'documents', readonly Mark[]>;
const DOCUMENT_MARKS = [...LOG_MARKS.filter(({ literal }) => literal !== 'torch.distributed.run'), ...documents];
const DOCUMENT_SCANNER = new LiteralScanner(DOCUMENT_MARKS.map(({ literal }) => literal));
const DOCUMENT_NAME = /\.(?:md|markdown|rst|adoc|tex)$/i;
const MARKS = new LiteralScanner(LOG_MARKS.map(({ literal }) => literal));

/** Made when it is first needed. Not from `find-messages.ts`, which compiles a thousand patterns when it is loaded. */
let failures: { readonly anchors: readonly string[]; readonly scanner: LiteralScanner } | undefined;
function failureAnchors(): NonNullable<typeof failures> {
  if (failures === undefined) {
    const anchors = [...new Set(oomGrammar().families.flatMap((family) => family.anchors))];
    failures = { anchors, scanner: new LiteralScanner(anchors) };
  }
  return failures;
}

const LOG_NAME = /\.(?:log|out|err|txt|stdout|stderr)(?:\.\d{1,4})?$|^log-|^slurm-\d|^(?:stdout|stderr)$/i;
const DATA_NAME =
  /\.(?:jsonl?|ya?ml|py|pyi|md|markdown|rst|adoc|csv|tsv|ipynb|html?|xml|toml|cfg|ini|sh|sbatch|slurm|js|ts|c|cc|cpp|cu|h|hpp|rs|go|sql|css|svg|tex|lock|patch|diff)$/i;
/** A log may begin further on: below what a file that is only met must have. */
const POSSIBLE = 0.1;
/** Zero bytes of a text: holes that a network file system leaves come in long runs. */
const HOLE_BYTES = 256;

/** Share of bytes that text has, holes aside. */
function textShare(bytes: Uint8Array): number {
  let holes = 0;
  let odd = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === 0) {
      const start = at;
      while (at + 1 < bytes.length && bytes[at + 1] === 0) at += 1;
      const run = at - start + 1;
      if (run >= HOLE_BYTES) holes += run;
      else odd += run;
    } else if (byte < 32 && !(byte >= 7 && byte <= 13) && byte !== 27) odd += 1;
    else if (byte >= 0x80) {
      // A valid UTF-8 sequence counts as text; anything else as a foreign byte.
      const length =
        byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 0;
      let valid = length > 0;
      for (let next = 1; next < length && at + next < bytes.length; next += 1) {
        if ((bytes[at + next]! & 0xc0) !== 0x80) valid = false;
      }
      if (valid) at += length - 1;
      else odd += 1;
    }
  }
  const checkedBytes = bytes.length - holes;
  return checkedBytes === 0 ? 0 : 1 - odd / checkedBytes;
}

/** The failure message that a text has, by one of its literals. */
function failureIn(text: Uint8Array): string | null {
  const { anchors, scanner } = failureAnchors();
  return scanner.next(text, 0, text.length, text.length) < 0 ? null : anchors[scanner.found[0]!]!;
}

/** The notation that a log is in. Null: it is a log as it is, or its failure is in what the notation would drop. */
export function logNotation(head: Pick<Head, 'bytes' | 'sizeBytes'>): Container | null {
  const container = containerOf(head);
  // What a page does not show repeats what it shows.
  if (container?.kind !== 'data') return container;
  return failureIn(head.bytes) !== null && failureIn(unwrapHead(container, head.bytes)) === null ? null : container;
}

/** How much a file looks like a text log. Never throws. */
export function sniffLog(head: Head): Sniff {
  const { bytes, name } = head;
  if (bytes.length === 0) return { score: 0, why: 'The file is empty.' };
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { score: 0, why: 'UTF-16 text is not read; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8).' };
  }
  const share = textShare(bytes);
  if (share < 0.95) return { score: 0, why: `${((1 - share) * 100).toFixed(0)} % of its first bytes are not text.` };
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 64)).toString('latin1').trimStart();
  if (start.startsWith('version https://git-lfs')) return { score: 0, why: 'It is a Git LFS pointer, not the file.' };
  const container = logNotation(head);
  const text = container === null ? bytes : unwrapHead(container, bytes);
  const what = container?.what ?? 'text';
  const isData = DATA_NAME.test(name) || (container?.kind === 'data' && !LOG_NAME.test(name));
  const isPage = container?.kind === 'page' || start.startsWith('<?xml');
  // What a source file has of a log may be its own text, but for a failure.
  const hasMarks = container !== null || !isData || DOCUMENT_NAME.test(name);
  const failure = failureIn(text);
  const literal = failure !== null ? `"${failure}"` : hasMarks ? markIn(text, container !== null || isData) : null;
  if (isData || isPage) {
    return literal === null
      ? { score: POSSIBLE, why: `It is ${what}, and no line of a log is in its beginning.` }
      : { score: 0.4, why: `It is ${what} with ${literal} in its beginning.` };
  }
  if (literal !== null) return { score: 0.9, why: `It is ${what} with ${literal} in its beginning.` };
  if (LOG_NAME.test(name)) return { score: 0.9, why: `It is ${what} and named like a log.` };
  return { score: 0.3, why: `It is ${what}, with nothing a training log is known by in its beginning.` };
}

/** What a literal in a text is, if only logs have it. */
function markIn(text: Uint8Array, isDocument: boolean): string | null {
  const [marks, scanner] = isDocument ? ([DOCUMENT_MARKS, DOCUMENT_SCANNER] as const) : ([LOG_MARKS, MARKS] as const);
  return scanner.next(text, 0, text.length, text.length) < 0 ? null : marks[scanner.found[0]!]!.what;
}
