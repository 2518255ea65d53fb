import { member } from '../../src/text/json-items.js';
import { utf8 } from '../../src/text/text-lines.js';
import type { ClusterWriter, Place } from './cluster-writer.js';
import { EVENT_WORDS } from './event-rules.js';
import { takeObject } from './take-object.js';

/** Of one object; a pod has 10 KB. The tree of a YAML takes some hundred times its bytes. */
const MOST_OBJECT_BYTES = 512 * 1024;
const DEEP = /[[{][[{\s]{200}/;

/** Reads one YAML text into plain values, or throws. */
export type ParseYaml = (text: string) => unknown;

/**
 * The library, loaded with the first file that needs it. Aliases are refused: kubectl writes none, and they multiply.
 */
export async function loadYaml(): Promise<ParseYaml> {
  const { parseDocument } = await import('yaml');
  return (text) => {
    const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false });
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS({ maxAliasCount: 0 });
  };
}

/**
 * Objects of `kubectl get … -o yaml`: documents between `---`, and the items of a list, which begin with `- ` at one
 * indentation. Each is parsed alone, so that a file of any length stays small in memory and a damaged object costs no
 * other.
 */
export class YamlReader {
  /** Objects that are invalid YAML, or too large. */
  damaged = 0;
  damagedAt: Place | null = null;
  private readonly writer: ClusterWriter;
  private readonly parse: ParseYaml;
  private lines: string[] = [];
  private bytes = 0;
  private at: Place = { line: 1, offset: 0 };
  /** Indentation of the items of the list that is open; -1 outside. */
  private indent = -1;
  private isBetween = true;

  constructor(writer: ClusterWriter, parse: ParseYaml) {
    this.writer = writer;
    this.parse = parse;
  }

  take(text: string, line: number, offset: number): void {
    if (/^---(?:\s|$)/.test(text) || text === '...') {
      this.flush();
      this.indent = -1;
      this.isBetween = true;
      return;
    }
    const place = { line, offset };
    if (this.indent < 0 && /^items:\s{0,8}$/.test(text)) {
      // The lines before the list are its own header.
      this.discard();
      this.indent = -2;
      return;
    }
    const item = this.indent === -1 ? null : /^( {0,8})- /.exec(text);
    if (item !== null && (this.indent === -2 || item[1]!.length === this.indent)) {
      this.flush();
      this.indent = item[1]!.length;
      this.begin(place);
    } else if (this.indent !== -1 && /^[A-Za-z]/.test(text)) {
      // The list's own keys go on.
      this.flush();
      this.indent = -1;
      this.isBetween = true;
      this.begin(place);
    } else if (this.isBetween) {
      if (text.trim() === '' || text.startsWith('#')) return;
      this.begin(place);
    }
    this.bytes += text.length + 1;
    if (this.bytes <= MOST_OBJECT_BYTES) this.lines.push(text);
  }

  end(): void {
    this.flush();
  }

  private begin(place: Place): void {
    this.at = place;
    this.isBetween = false;
  }

  private discard(): void {
    this.lines = [];
    this.bytes = 0;
  }

  private flush(): void {
    const { bytes, at, writer } = this;
    const text = this.lines.join('\n');
    this.discard();
    if (bytes === 0) return;
    // Nine of ten events report that something was pulled, created or started; reading them as YAML would take most of
    // the time.
    if (/^ {0,10}(?:- )?kind: Event\s{0,8}$/m.test(text) && !EVENT_WORDS.test(text)) {
      writer.objects += 1;
      return;
    }
    if (bytes > MOST_OBJECT_BYTES || DEEP.test(text)) {
      this.blame(at);
      return;
    }
    let value: unknown;
    try {
      value = this.parse(utf8(text));
    } catch {
      // Any error of the library, including a stack overflow.
      this.blame(at);
      return;
    }
    const object = Array.isArray(value) ? value[0] : value;
    if (
      !takeObject(object, at, writer) &&
      member(object, 'kind') === undefined &&
      member(object, 'metadata') === undefined
    ) {
      this.blame(at);
    }
  }

  private blame(at: Place): void {
    this.damaged += 1;
    this.damagedAt ??= at;
  }
}
