import { member } from '../../src/text/json-items.js';
import { utf8 } from '../../src/text/text-lines.js';
import type { YamlFault } from '../../src/text/yaml.js';
import type { ClusterWriter, Place } from './cluster-writer.js';
import { EVENT_WORDS } from './event-rules.js';
import { takeObject } from './take-object.js';

/** Of one object; a pod has 10 KB. */
const MOST_OBJECT_BYTES = 512 * 1024;
/**
 * What all objects of a file together may make the library build, in marks of `checkYaml`: at most 4 s for a file of
 * 4 MiB. Objects that need the library have a mark in ten bytes; most of a list need none. Damage takes longest.
 */
const MOST_MARKS = 300_000;
const MARKS_A_BYTE = 0.1;
const DAMAGE_WEIGHT = 4;

/** What reads YAML, loaded with the first file that needs it. */
export type YamlText = typeof import('../../src/text/yaml.js');

export const loadYaml = (): Promise<YamlText> => import('../../src/text/yaml.js');

/**
 * Objects of `kubectl get … -o yaml`: documents between `---`, and the items of a list, which begin with `- ` at one
 * indentation. Each is parsed alone, so that a file of any length stays small in memory and a damaged object costs no
 * other.
 */
export class YamlReader {
  private readonly writer: ClusterWriter;
  private readonly yaml: YamlText;
  private marks = MOST_MARKS;
  private lines: string[] = [];
  private bytes = 0;
  private at: Place = { line: 1, offset: 0 };
  /** Indentation of the items of the list that is open; -1 outside. */
  private indent = -1;
  private isBetween = true;

  constructor(writer: ClusterWriter, yaml: YamlText) {
    this.writer = writer;
    this.yaml = yaml;
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
    const indent = Math.max(0, this.indent);
    const text = joined(this.lines, indent);
    this.discard();
    if (bytes === 0) return;
    this.marks += bytes * MARKS_A_BYTE;
    // Nine of ten events report that something was pulled, created or started; reading them as YAML would take most of
    // the time.
    if (/^ {0,10}(?:- )?kind: Event\s{0,8}$/m.test(text) && !EVENT_WORDS.test(text)) {
      writer.objects += 1;
      return;
    }
    if (bytes > MOST_OBJECT_BYTES) {
      this.blame();
      return;
    }
    let value: unknown;
    try {
      value = this.read(utf8(text));
    } catch {
      this.blame();
      return;
    }
    const object = Array.isArray(value) ? value[0] : value;
    if (
      !takeObject(object, at, writer) &&
      member(object, 'kind') === undefined &&
      member(object, 'metadata') === undefined
    ) {
      this.blame();
    }
  }

  /** Throws where the text is invalid YAML, has aliases, which kubectl never writes, or would take too long. */
  private read(text: string): unknown {
    const { checkYaml, plainYamlValue, YAML_LIMITS, yamlDocument, yamlValue } = this.yaml;
    const plain = plainYamlValue(text);
    if (plain !== undefined) return plain;
    const marks = checkYaml(text, Math.min(YAML_LIMITS.marks, this.marks));
    if (typeof marks !== 'number') throw new Error(marks.what);
    this.marks -= marks;
    const document = yamlDocument(text, 'MBF2951');
    const [damage] = document.errors;
    if (damage !== undefined) {
      this.marks -= marks * (DAMAGE_WEIGHT - 1);
      throw damage;
    }
    const fault: YamlFault = (what) => {
      throw new Error(what);
    };
    return yamlValue(document, 'MBF2951', fault, false);
  }

  /** The object is invalid YAML, too large, or one of too many to read. */
  private blame(): void {
    this.writer.oddities.add('kubernetes_damaged', this.at.line, this.at.offset);
  }
}

/** Lines of an object, without the indentation of its list: what reads plain YAML expects none. */
function joined(lines: readonly string[], indent: number): string {
  const prefix = ' '.repeat(indent);
  const isIndented = indent > 0 && lines.every((line) => line.startsWith(prefix) || line.trim() === '');
  return (isIndented ? lines.map((line) => line.slice(indent)) : lines).join('\n');
}
