import { type MessageFamily, type MessagePiece, oomGrammar, PROSE_ID } from '../../src/knowledge/oom-messages.js';
import type { IncidentByteField, PrintedBytes } from '../../src/model/tables.js';
import { INCIDENT_BYTE_FIELDS } from '../../src/model/tables.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';
import { type CompiledPattern, compilePattern } from './compile-pattern.js';
import { lineAt, type Squashed, squash } from './squash.js';

/** A message found in a run of lines. Line numbers are indices into those lines. */
export interface FoundMessage {
  readonly kind: IncidentKind | 'note';
  readonly grammar: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly text: string;
  readonly exception: string | null;
  /** The line of code directly before it, where its traceback was cut off above that. */
  readonly code: string | null;
  readonly device: number | null;
  readonly pid: number | null;
  /** Of a `[rankN]:` in the middle of the line, where lines of several ranks were glued. */
  readonly inlineRank: number | null;
  /**
   * Stated in the message itself (`[Rank:3]` of the Gaudi bridge, `[RANK 3]` of TensorRT-LLM): weaker than a prefix.
   */
  readonly statedRank: number | null;
  readonly bytes: Readonly<Partial<Record<IncidentByteField, PrintedBytes>>>;
  readonly processes: readonly { readonly pid: number; readonly printed: PrintedBytes }[];
  /** Fields with a number that was not measured (2^64 − 1 of NVML, a wrapped size). */
  readonly impossible: readonly string[];
}

interface CompiledPiece {
  readonly piece: MessagePiece;
  readonly patterns: readonly CompiledPattern[];
}
interface CompiledFamily {
  readonly family: MessageFamily;
  readonly index: number;
  readonly pieces: readonly CompiledPiece[];
  readonly contexts: readonly { readonly name: string; readonly patterns: readonly CompiledPattern[] }[];
}

const GRAMMAR = oomGrammar();
const FAMILIES: readonly CompiledFamily[] = GRAMMAR.families.map((family, index) => ({
  family,
  index,
  pieces: family.pieces.map((piece) => ({
    piece,
    patterns: piece.patterns.map((pattern) => compilePattern(pattern, family.units)),
  })),
  contexts: (family.contexts ?? []).map(({ name, patterns }) => ({
    name,
    patterns: patterns.map((pattern) => compilePattern(pattern, family.units)),
  })),
}));

interface Token {
  readonly family: CompiledFamily;
  readonly piece: MessagePiece;
  readonly start: number;
  readonly end: number;
  readonly pattern: CompiledPattern;
  readonly groups: readonly (string | undefined)[];
}

interface Draft {
  readonly family: CompiledFamily;
  readonly start: number;
  end: number;
  /** Only the head was seen. */
  bare: boolean;
  readonly names: Set<string>;
  readonly bytes: Partial<Record<IncidentByteField, PrintedBytes>>;
  readonly processes: { pid: number; printed: PrintedBytes }[];
  readonly filled: Set<string>;
  readonly impossible: string[];
  device: number | null;
  pid: number | null;
}

/** Figures from here on were never bytes of memory: 2^64 − 1 printed as `17179869184.00 GiB` or `16.00 EiB`. */
const IMPOSSIBLE_BYTES = 2 ** 63;
const BYTE_FIELDS: ReadonlySet<string> = new Set(INCIDENT_BYTE_FIELDS);
const isByteField = (name: string): name is IncidentByteField => BYTE_FIELDS.has(name);

/** How far around a message its context is looked for, in squashed characters. */
const CONTEXT_BEFORE = 600;
const CONTEXT_AFTER = 400;
const LONGEST_TEXT = 4000;
/** Most characters of a message's line kept before its head. */
const LEAD_TEXT = 200;

function collectTokens(squashed: Squashed, mask: number): Token[] {
  const tokens: Token[] = [];
  for (const family of FAMILIES) {
    if ((mask & (1 << family.index)) === 0) continue;
    for (const { piece, patterns } of family.pieces) {
      for (const pattern of patterns) {
        if (!squashed.text.includes(pattern.literal)) continue;
        const { regex } = pattern;
        regex.lastIndex = 0;
        for (let match = regex.exec(squashed.text); match !== null; match = regex.exec(squashed.text)) {
          const start = match.index;
          if (pattern.atLineStart) {
            const raw = squashed.positions[start]!;
            if (squashed.raw.slice(squashed.lineStarts[lineAt(squashed, raw)], raw).trim() !== '') continue;
          }
          tokens.push({ family, piece, start, end: start + match[0].length, pattern, groups: match.slice(1) });
        }
      }
    }
  }
  const weight = (token: Token): number => (token.piece.role === 'head' ? 0 : token.piece.role === 'opens' ? 1 : 2);
  // Groups of one start: heads first, then the longer text.
  return tokens.sort((a, b) => a.start - b.start || weight(a) - weight(b) || b.end - a.end);
}

/** Value and unit as printed; half of the last printed digit is the reading error. A count of bytes is exact. */
function printedBytes(value: string, unit: string, scale: number): PrintedBytes {
  const decimals = value.includes('.') ? value.length - value.indexOf('.') - 1 : 0;
  return {
    bytes: Math.round(Number(value.replaceAll(',', '')) * scale),
    text: `${value} ${unit}`,
    precisionBytes: scale === 1 ? 0 : 0.5 * 10 ** -decimals * scale,
  };
}

/** Adds the values of a token to the message; false if the message had all of them. */
function absorb(draft: Draft, token: Token): boolean {
  let group = 0;
  let news = token.pattern.captures.length === 0 && !draft.names.has(token.piece.name);
  let pid: number | null = null;
  let shape: string | null = null;
  for (const { name, kind, unit: given } of token.pattern.captures) {
    const value = token.groups[group] ?? '';
    const unit = kind === 'size' ? (token.groups[group + 1] ?? '') : (given ?? 'bytes');
    group += kind === 'size' ? 2 : 1;
    if (name === 'pid') pid = Number(value);
    if (name === 'device' && draft.device === null) {
      draft.device = Number(value);
      news = true;
    }
    if (name === 'shape') shape = value;
    if (name === 'dtype' && shape !== null && GRAMMAR.tensor_types[value] !== undefined) {
      const elements = shape.split(',').reduce((product, size) => product * Number(size), 1);
      const bytes = elements * GRAMMAR.tensor_types[value];
      draft.bytes.requested = { bytes, text: `shape[${shape}] ${value}`, precisionBytes: 0 };
      news = true;
    }
    if (kind === 'text') continue;
    const field = name.replace(/,?#$/, '');
    if (field !== 'processBytes' && (!isByteField(field) || draft.filled.has(field))) continue;
    const units: Readonly<Record<string, number>> = GRAMMAR.units[draft.family.family.units]!;
    const printed = printedBytes(value, unit, units[unit] ?? 1);
    news = true;
    if (printed.bytes >= IMPOSSIBLE_BYTES) draft.impossible.push(`${field} ${printed.text}`);
    else if (field === 'processBytes') draft.processes.push({ pid: pid ?? 0, printed });
    else if (isByteField(field)) draft.bytes[field] = printed;
    draft.filled.add(field);
  }
  if (pid !== null && !token.piece.repeats && draft.pid === null) {
    draft.pid = pid;
    news = true;
  }
  if (news) draft.names.add(token.piece.name);
  return news;
}

function begin(token: Token): Draft {
  const draft: Draft = {
    family: token.family,
    start: token.start,
    end: token.end,
    bare: true,
    names: new Set([token.piece.name]),
    bytes: {},
    processes: [],
    filled: new Set(),
    impossible: [],
    device: null,
    pid: null,
  };
  absorb(draft, token);
  if (token.piece.role !== 'head') draft.bare = false;
  return draft;
}

/** A line of source that a traceback shows: `raise RuntimeError(f'DataLoader worker (pid(s) {pids}) exited')`. */
const SOURCE_LINE = /^[\s>#|]{0,60}(?:-{2,6}> ?)?(?:\d{1,6} )?\s{0,60}raise [\w.]{1,120}\(/;

/** Chains tokens into messages: a head begins one, what follows within the family's gap belongs to it. */
function draftMessages(tokens: readonly Token[], squashed: Squashed): Draft[] {
  const drafts: Draft[] = [];
  const lineOf = (start: number): number => lineAt(squashed, squashed.positions[start]!);
  const quotedIn = (line: number): boolean => {
    const start = squashed.lineStarts[line]!;
    return SOURCE_LINE.test(squashed.raw.slice(start, start + 320));
  };
  const open = new Map<CompiledFamily, Draft>();
  // Without white space Slurm's "been OOM Killed" is Kubernetes' "OOMKilled": inside a message it goes on, elsewhere it
  // begins one.
  const goesOn = new Set(
    tokens
      .filter(({ piece }) => (piece.role ?? 'follows') === 'follows')
      .map(({ family, start }) => `${family.index} ${start}`),
  );
  let lastHead: Token | null = null;
  let lastPieceStart = -1;
  let lastPieceTaken = false;
  for (const token of tokens) {
    const { family, piece } = token;
    const current = open.get(family);
    const near = current !== undefined && token.start - current.end <= family.family.gap;
    if (piece.role === 'head') {
      // `CUDA error: CUBLAS_…` and `CUBLAS_…` are one head.
      if (lastHead !== null && token.start < lastHead.end) continue;
      // A symbol that the message's own advice names.
      if (current !== undefined && !current.bare && token.start < current.end) continue;
      const continued = [...open].some(
        ([other, draft]) => goesOn.has(`${other.index} ${token.start}`) && token.start - draft.end <= other.family.gap,
      );
      if (continued) continue;
      lastHead = token;
      if (near && family.family.headsMerge === true) {
        const line = lineOf(current.start);
        if (lineOf(token.start) > line && quotedIn(line)) {
          // The statement that raises it repeats the exception without its figures.
          drafts.splice(drafts.lastIndexOf(current), 1);
          const draft = begin(token);
          drafts.push(draft);
          open.set(family, draft);
          continue;
        }
        absorb(current, token);
        current.names.add(piece.name);
        current.end = Math.max(current.end, token.end);
        continue;
      }
      const draft = begin(token);
      drafts.push(draft);
      open.set(family, draft);
      continue;
    }
    // The same words of two families go to the one whose message is being read.
    if (token.start === lastPieceStart && lastPieceTaken && !near) continue;
    if (token.start !== lastPieceStart) lastPieceTaken = false;
    lastPieceStart = token.start;
    if (near) {
      const overlaps = token.start < current.end && !current.bare;
      if (absorb(current, token) || piece.repeats === true) {
        current.end = Math.max(current.end, token.end);
        current.bare = false;
        lastPieceTaken = true;
        continue;
      }
      if (overlaps || piece.role !== 'opens' || token.start < current.end) {
        lastPieceTaken = true;
        continue;
      }
    }
    if (piece.role !== 'opens') continue;
    const inOther = [...open.values()].some((other) => other !== current && token.start < other.end);
    const heldByHead = [...open].some(
      ([other, draft]) =>
        other !== family &&
        token.start - draft.end <= other.family.gap &&
        other.pieces.some(({ piece: own }) => own.name === piece.name),
    );
    if (inOther || heldByHead) continue;
    const draft = begin(token);
    drafts.push(draft);
    open.set(family, draft);
    lastPieceTaken = true;
  }
  return drafts;
}

function contextNames(draft: Draft, squashed: Squashed, nextStart: number): string[] {
  const from = Math.max(0, draft.start - CONTEXT_BEFORE);
  const to = Math.min(squashed.text.length, Math.max(draft.end, nextStart), draft.end + CONTEXT_AFTER);
  const around = squashed.text.slice(from, to);
  const names: string[] = [];
  for (const { name, patterns } of draft.family.contexts) {
    const present = patterns.some(({ regex, literal }) => {
      if (!around.includes(literal)) return false;
      return [...around.matchAll(regex)].some((match) => {
        // Squashing joins words: `BOOM` and `the OOM` differ only in the preceding characters.
        const raw = squashed.positions[from + match.index]!;
        return !/[A-Za-z]/.test(squashed.raw[raw - 1] ?? ' ');
      });
    });
    if (present) names.push(name);
  }
  return names;
}

/** How {@link EXCEPTION_BEFORE} ends: a cheap test that most heads fail. */
const EXCEPTION_END = /(?:Error|Exception|OutOfResources)['"(:\s]{0,6}$/;
const LONGEST_END = 'OutOfResources'.length + 6;
const EXCEPTION_BEFORE =
  /(?<![A-Za-z_])([A-Za-z_][\w.]{0,120}(?:Error|Exception|OutOfResources)|Exception)['"(:\s]{0,6}$/;
const EXCEPTION_LEADING = /^[\s>#|'"`]{0,20}([A-Za-z_][\w.]{0,120}(?:Error|Exception|OutOfResources)|Exception): /;
/** Text allowed between an exception's name and the head: `CUDA error: ` before a library's status. */
const BETWEEN = /(?:CUDA error|cuDNN error|cuBLAS Error|cuDNN Error|CUDA Error)[:\s]{0,3}$/;
/** What the C++ runtime prints before an uncaught exception's text. */
const INSTANCE = /throwing an instance of '([\w:]{1,120})'\s*$/;

/** A Python warning that quotes an error: FSDP's of a parameter that it could not copy for a state dict. */
const WARNED = /([A-Za-z]\w{0,60}Warning): (?:(?!Warning: )[\s\S]){1,800}?\bError:\s{1,4}$/;
const CODE_BEFORE = /^\s{4,64}(?!File "|\S{0,40}Error: )(\w[^\n]{0,160}[=(.][^\n]{0,200})$/;

function codeBefore({ raw, lineStarts }: Squashed, line: number): string | null {
  for (let before = line - 1; before >= Math.max(0, line - 2); before -= 1) {
    const text = raw.slice(lineStarts[before], lineStarts[before + 1]! - 1);
    if (!/^\s{0,200}[\^~]{1,200}\s{0,9}$/.test(text)) return CODE_BEFORE.exec(text.slice(0, 400))?.[1] ?? null;
  }
  return null;
}

/** The exception class right before a message, and where it begins in the raw text. */
function exceptionBefore(squashed: Squashed, start: number, rawStart: number): { name: string; raw: number } | null {
  const lineStart = squashed.lineStarts[lineAt(squashed, rawStart)]!;
  let before = squashed.raw.slice(Math.max(lineStart, rawStart - 160), rawStart);
  before = before.replace(BETWEEN, '');
  const match = EXCEPTION_END.test(before.slice(-LONGEST_END)) ? EXCEPTION_BEFORE.exec(before) : null;
  const glued = squashed.text.slice(Math.max(0, start - 60), start).replace(/(?:CUDAerror|cuDNNerror)?[:([]{0,3}$/, '');
  const known = GRAMMAR.exception_classes.find((name) => glued.endsWith(name));
  // A class wrapped over two lines, or glued to the line before it, is known by its own name only.
  if (known !== undefined && (match === null || match[1]!.length < known.length || /[A-Z]torch\./.test(match[1]!))) {
    return { name: known, raw: squashed.positions[squashed.text.lastIndexOf(known, start)]! };
  }
  if (match === null) {
    const from = Math.max(0, rawStart - 900);
    const warned = WARNED.exec(squashed.raw.slice(from, rawStart));
    if (warned !== null) return { name: warned[1]!, raw: from + warned.index };
    const line = lineAt(squashed, rawStart);
    if (line > 0 && /^\s{0,8}what\(\):\s{0,4}$/.test(squashed.raw.slice(lineStart, rawStart))) {
      const previous = squashed.lineStarts[line - 1]!;
      const thrown = INSTANCE.exec(squashed.raw.slice(Math.max(previous, lineStart - 300), lineStart));
      if (thrown !== null) return { name: thrown[1]!, raw: previous };
    }
    // `RuntimeError: [enforce fail at …] DefaultCPUAllocator: …`: the class that the line begins with.
    const leading = EXCEPTION_LEADING.exec(squashed.raw.slice(Math.max(lineStart, rawStart - 300), rawStart));
    if (leading === null || rawStart - lineStart > 300) return null;
    return { name: leading[1]!, raw: squashed.raw.indexOf(leading[1]!, lineStart) };
  }
  return { name: match[1]!, raw: squashed.raw.lastIndexOf(match[1]!, rawStart) };
}

/** Families whose messages a run-time error may carry on its second line; its first line states only the place. */
const CARRIED: ReadonlySet<string> = new Set([
  'torch',
  'torch_async',
  'cuda_driver',
  'host_alloc',
  'kv_cache',
  'xla',
  'hpu',
  'paddle',
  'device_codes',
]);
const CARRIER =
  /^[\s>#|'"`]{0,20}((?:\w{1,40}\.){0,6}(?:Runtime|XlaRuntime|JaxRuntime|ResourceExhausted|XGBoost)Error): ?\S/;

/** The run-time error on the line before a message that begins its own line, where that line holds no other message. */
function exceptionCarrying(squashed: Squashed, rawStart: number, after: number): { name: string; raw: number } | null {
  const line = lineAt(squashed, rawStart);
  if (!/^[\s>#|'"`]{0,20}$/.test(squashed.raw.slice(squashed.lineStarts[line]!, rawStart).slice(-60))) return null;
  for (let before = line - 1; before >= Math.max(0, line - 3); before -= 1) {
    const start = squashed.lineStarts[before]!;
    const text = squashed.raw.slice(start, squashed.lineStarts[before + 1]! - 1);
    if (text.trim() === '') continue;
    const match = start < after ? null : CARRIER.exec(text.slice(0, 400));
    return match === null ? null : { name: match[1]!, raw: start + text.indexOf(match[1]!) };
  }
  return null;
}

/** Whether a bare head is the statement of an error, rather than part of a sentence about one. */
function isStated(squashed: Squashed, rawStart: number, rawEnd: number): boolean {
  const line = lineAt(squashed, rawStart);
  const before = squashed.raw.slice(Math.max(squashed.lineStarts[line]!, rawStart - 80), rawStart);
  if (/(?:Error|Exception|error|failed|Failed|ERROR|FAILED|Exit reason)\W{0,4}$/.test(before)) return true;
  const after = squashed.raw.slice(rawEnd, rawEnd + 2);
  // `ERROR: Failed to load model: CUDA out of memory`
  if (/error|fail|exception/i.test(before) && /: ?["'`]?$/.test(before) && /^(?:$|[."'`\n\\)])/.test(after))
    return true;
  return /^[\s>#|\-*'"`(]{0,40}$/.test(before) && (after === '' || /^[.!:,;)'"`\n\]]/.test(after));
}

/**
 * Finds every failure message in consecutive lines of one writer. `mask` selects the families to look for (bit = index
 * in the families of the grammar); `given` are contexts known from elsewhere in the log. Linear in the length of the
 * lines.
 */
export function findMessages(lines: readonly string[], mask: number, given: readonly string[] = []): FoundMessage[] {
  const squashed = squash(lines);
  const drafts = draftMessages(collectTokens(squashed, mask), squashed).sort((a, b) => a.start - b.start);
  const messages: FoundMessage[] = [];
  let previousEnd = 0;
  drafts.forEach((draft, index) => {
    const nextStart = drafts[index + 1]?.start ?? squashed.text.length;
    const headRaw = squashed.positions[draft.start]!;
    const headEndRaw = squashed.positions[draft.end - 1]! + 1;
    const exception =
      exceptionBefore(squashed, draft.start, headRaw) ??
      (CARRIED.has(draft.family.family.name) ? exceptionCarrying(squashed, headRaw, previousEnd) : null);
    const rawStart = exception?.raw ?? headRaw;
    const firstLine = lineAt(squashed, rawStart);
    const lastLine = lineAt(squashed, headEndRaw - 1);
    const nextRaw = squashed.positions[nextStart] ?? squashed.raw.length;
    const lineEnd = squashed.raw.indexOf('\n', headEndRaw);
    const textEnd = Math.max(headEndRaw, Math.min(lineEnd < 0 ? squashed.raw.length : lineEnd, nextRaw));
    const names = new Set([...draft.names, ...contextNames(draft, squashed, nextStart), ...given]);
    const doubtful =
      draft.bare && draft.family.family.headNeedsStatement === true && !isStated(squashed, headRaw, headEndRaw);
    const entry = draft.family.family.wordings.find(({ when }) => (when ?? []).every((name) => names.has(name)));
    if (entry === undefined) return;
    if (doubtful && !/memory/i.test(squashed.raw.slice(headRaw, headEndRaw))) return;
    const lineStart = squashed.lineStarts[firstLine]!;
    // Without an exception the words before the head name the writer (`srun: error: node1: task 3: `).
    const textStart = exception === null ? Math.max(lineStart, rawStart - LEAD_TEXT, previousEnd) : rawStart;
    previousEnd = textEnd;
    const lead = squashed.raw.slice(Math.max(lineStart, rawStart - 200), headRaw);
    const inline = [...lead.slice(0, Math.max(0, lead.length - (headRaw - rawStart))).matchAll(/\[rank(\d{1,6})\]/g)];
    const stated = /\[(?:Rank:|RANK )(\d{1,6})\]/.exec(lead);
    const otherProcesses = draft.processes;
    messages.push({
      kind: doubtful ? 'negative_text' : entry.kind,
      grammar: doubtful ? PROSE_ID : entry.id,
      firstLine,
      lastLine,
      text: squashed.raw.slice(textStart, Math.min(textEnd, rawStart + LONGEST_TEXT)).trim(),
      exception: exception?.name ?? null,
      code: exception === null ? null : codeBefore(squashed, firstLine),
      device: draft.device,
      pid: draft.pid,
      inlineRank: inline.length === 0 ? null : Number(inline.at(-1)![1]),
      statedRank: stated === null ? null : Number(stated[1]),
      bytes:
        otherProcesses.length === 0
          ? draft.bytes
          : {
              ...draft.bytes,
              otherProcess: {
                bytes: otherProcesses.reduce((sum, { printed }) => sum + printed.bytes, 0),
                text: otherProcesses.map(({ printed }) => printed.text).join(' + '),
                precisionBytes: otherProcesses.reduce((sum, { printed }) => sum + printed.precisionBytes, 0),
              },
            },
      processes: otherProcesses,
      impossible: draft.impossible,
    });
  });
  return [...messages, ...proseMentions(squashed, messages)].sort((a, b) => a.firstLine - b.firstLine);
}

/** Lines that mention exhausted memory and belong to no message. */
function proseMentions(squashed: Squashed, messages: readonly FoundMessage[]): FoundMessage[] {
  const taken = new Set<number>();
  for (const { firstLine, lastLine } of messages)
    for (let line = firstLine; line <= lastLine; line += 1) taken.add(line);
  const mentions: FoundMessage[] = [];
  for (const match of squashed.raw.matchAll(/out\s{1,16}of\s{1,16}memory/gi)) {
    const line = lineAt(squashed, match.index);
    if (taken.has(line)) continue;
    taken.add(line);
    const start = squashed.lineStarts[line]!;
    const end = squashed.raw.indexOf('\n', match.index + match[0].length);
    mentions.push({
      kind: 'negative_text',
      grammar: PROSE_ID,
      firstLine: line,
      lastLine: line,
      text: squashed.raw
        .slice(Math.max(start, match.index - 500), end < 0 ? squashed.raw.length : end)
        .slice(0, 1000)
        .trim(),
      exception: null,
      code: null,
      device: null,
      pid: null,
      inlineRank: null,
      statedRank: null,
      bytes: {},
      processes: [],
      impossible: [],
    });
  }
  return mentions;
}

/** Literals to scan a log for, each with the bits of the families it may begin. */
export const ANCHORS: readonly { readonly literal: string; readonly mask: number }[] = (() => {
  const masks = new Map<string, number>();
  for (const { family, index } of FAMILIES) {
    for (const anchor of family.anchors) masks.set(anchor, (masks.get(anchor) ?? 0) | (1 << index));
  }
  return [...masks].map(([literal, mask]) => ({ literal, mask }));
})();
