import { type IncidentKind, isOomKind } from '../../../src/model/vocabulary.js';
import { classifyException } from '../classify-exception.js';
import { readException } from '../exception-line.js';
import type { BlockCode, BlockReader, BlockStep, Emit } from '../formats/contract.js';

/** Begins the text of the entry that torchrun observed first. By wall clock of one node: it can be a victim. */
export const ROOT_CAUSE_MARK = 'root cause (torchrun): ';

interface Entry {
  root: boolean;
  time?: string;
  host?: string;
  rank?: number;
  localRank?: number;
  exitCode?: number;
  pid?: number;
  errorFile?: string;
  message: string;
  exception?: string;
}

const SECTION = /^\s{0,40}(?:Other )?(Failures|Root Cause)(?: \(first observed failure\))?:\s{0,4}$/;
const RULED = /^\s{0,8}([-=*])\1{7,}\s{0,8}$/;
const FIELD = /^\s{0,8}(time|host|rank|exitcode|error_file|traceback|msg)\s{0,8}: ?([^\n]*)$/;
const RANK = /^(\d{1,6}) \(local_rank: (\d{1,4})\)/;
const EXIT = /^(-?\d{1,10}) \(pid: (\d{1,10})\)/;

class FooterReader implements BlockReader {
  private readonly emit: Emit;
  private root: boolean;
  private entry: Entry | null = null;
  private inTraceback = false;
  private ruled = false;

  constructor(emit: Emit, section: string) {
    this.emit = emit;
    this.root = section === 'Root Cause';
  }

  line(text: string): BlockStep {
    const section = SECTION.exec(text);
    if (section !== null) {
      this.flush();
      this.root = section[1] === 'Root Cause';
      this.ruled = false;
      return 'taken';
    }
    const ruled = RULED.exec(text);
    // A footer of torch 1.9 rules its sections with the sign that closes it since 1.10.
    if (this.ruled && ruled === null) return 'over';
    if (ruled !== null) {
      this.flush();
      this.ruled = ruled[1] !== '-';
      return 'taken';
    }
    if (/^\s{0,8}\[\d{1,6}\]:\s{0,4}$/.test(text)) {
      this.flush();
      this.entry = { root: this.root, message: '' };
      return 'taken';
    }
    if (/^\s{0,8}<NO_OTHER_FAILURES>/.test(text)) return 'taken';
    const { entry } = this;
    if (entry === null) return text.trim() === '' ? 'taken' : 'foreign';
    const field = this.inTraceback && /^\s{3,}/.test(text) ? null : FIELD.exec(text);
    if (field !== null) {
      this.inTraceback = false;
      this.take(entry, field[1]!, field[2]!.trim());
      return 'taken';
    }
    if (this.inTraceback && /^\s{1,64}\S/.test(text)) {
      const exception = readException(text.trim(), false);
      if (exception !== null) {
        entry.exception = exception.name;
        entry.message = text.trim().slice(0, 1000);
      }
      return 'taken';
    }
    return text.trim() === '' ? 'taken' : 'foreign';
  }

  end(): void {
    this.flush();
  }

  private take(entry: Entry, name: string, value: string): void {
    if (name === 'time') entry.time = value.replace('_', ' ');
    else if (name === 'host') entry.host = value;
    else if (name === 'rank') {
      const match = RANK.exec(value);
      if (match === null) return;
      entry.rank = Number(match[1]);
      entry.localRank = Number(match[2]);
    } else if (name === 'exitcode') {
      const match = EXIT.exec(value);
      if (match === null) return;
      entry.exitCode = Number(match[1]);
      entry.pid = Number(match[2]);
    } else if (name === 'error_file') entry.errorFile = value;
    else if (/^Traceback \(/.test(value)) this.inTraceback = true;
    else {
      entry.message = value.slice(0, 1000);
      // The last field of an entry: emitted here, so that the finding is on the entry's own line.
      this.flush();
    }
  }

  private flush(): void {
    const { entry } = this;
    this.entry = null;
    this.inTraceback = false;
    if (entry === null || entry.exitCode === undefined) return;
    const named = /To enable traceback see|^<N\/A>$/.test(entry.message) ? '' : entry.message;
    const what = [
      `rank ${entry.rank ?? '?'} (local_rank ${entry.localRank ?? '?'}) exitcode ${entry.exitCode} (pid ${entry.pid ?? '?'})`,
      named,
    ].filter((part) => part !== '');
    this.emit({
      row: 'failure',
      kind: kindOf(entry),
      text: `${entry.root ? ROOT_CAUSE_MARK : ''}${what.join(': ')}`,
      exitCode: entry.exitCode,
      ...(entry.exception === undefined ? {} : { exception: entry.exception }),
      ...(entry.rank === undefined ? {} : { rank: entry.rank }),
      ...(entry.localRank === undefined ? {} : { localRank: entry.localRank }),
      ...(entry.host === undefined ? {} : { host: entry.host }),
      ...(entry.pid === undefined ? {} : { pid: entry.pid }),
      ...(entry.time === undefined ? {} : { timeText: entry.time }),
    });
  }
}

/**
 * SIGKILL: nothing shows who sent it. A message about memory is a failure of its own, which the lines of the traceback
 * have.
 */
function kindOf({ exitCode, exception, message }: Entry): IncidentKind {
  if (exitCode === -9 || exitCode === 137) return 'killed';
  if (exception === undefined) return 'other';
  const kind = classifyException(exception, message.slice(exception.length + 1).trim())?.kind ?? 'other';
  return isOomKind(kind) ? 'other' : kind;
}

export const FOOTER_ID = 'torchrun.footer';
export const TORCHRUN_FOOTER: BlockCode = {
  id: FOOTER_ID,
  opens: SECTION,
  begin: (match, emit) => new FooterReader(emit, match[1]!),
};
