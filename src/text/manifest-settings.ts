/**
 * Settings in the description of a job: Kubernetes (Pod, Job, PyTorchJob, JobSet, RayJob), Docker Compose,
 * `runtime_env` of Ray. Variables (`env` as a list of name and value, or as a section), and what `command`, `args` and
 * `entrypoint` start. Read line by line, without a tree: a part of such a text, as people paste it, is read like the
 * whole. Upstream: Kubernetes API reference, core/v1 Container and EnvVar; Compose specification, services; Ray
 * documentation of runtime_env.
 */
import { envFinding, keepsEnv } from '../knowledge/env-keys.js';
import { literalText, readLiteral } from '../knowledge/literal.js';
import type { ConfigFinding, EnvFinding } from '../model/log-rows.js';
import { readShellSettings } from './shell-settings.js';

export type GiveSetting = (finding: ConfigFinding | EnvFinding, at: number) => void;

const KEY = /^["']?([\w./-]{1,200})["']?:(?: {1,40}(\S[\s\S]*))?$/;
const ASSIGNMENT = /^["']?([A-Z][A-Z0-9_]{2,80})=([\s\S]{0,2000}?)["']?$/;
/** What a command and its arguments may take. */
const MOST_WORDS = 4000;
const MOST_CHARS = 65_536;

interface Scalar {
  readonly indent: number;
  /** `word`: an item of a command; `script`: commands; `yaml`: lines as any other; `skip`: something else. */
  readonly is: 'word' | 'script' | 'yaml' | 'skip';
  readonly lines: string[];
}

export class ManifestSettings {
  private readonly give: GiveSetting;
  /** An item of a list of variables. */
  private item: { name?: string; value?: string } = {};
  /** `command` and `args` of one container; `column` of the key, null while no list is open. */
  private words: string[] = [];
  private column = -1;
  private isOpen = false;
  private at = 0;
  private chars = 0;
  private scalar: Scalar | null = null;
  /** A list in brackets over several lines. */
  private flow: string | null = null;

  constructor(give: GiveSetting) {
    this.give = give;
  }

  /** Whether a text over several lines is open, to which a line with this indentation belongs. */
  continues(indent: number): boolean {
    return this.flow !== null || (this.scalar !== null && indent > this.scalar.indent);
  }

  /** One line; `at`: where it begins. */
  line(line: string, at: number): void {
    const text = line.trimEnd();
    const indent = text.length - text.trimStart().length;
    if (this.scalar !== null && (text === '' || indent > this.scalar.indent)) {
      const { is, lines } = this.scalar;
      if (is !== 'yaml') {
        if (is !== 'skip' && this.grows(text)) lines.push(text);
        return;
      }
    } else this.closeScalar();
    if (text === '' || text.trimStart().startsWith('#')) return;
    if (this.flow !== null) {
      this.flowList(`${this.flow} ${text.trim()}`);
      return;
    }
    const dashes = /^(?: {0,200}- {1,8}){0,4} {0,200}/.exec(text)![0];
    const body = text.slice(dashes.length);
    const isItem = dashes.includes('-');
    if (isItem) this.item = {};
    if (this.isOpen && isItem && indent >= this.column) {
      this.word(body, indent);
      return;
    }
    this.isOpen = false;
    const match = KEY.exec(body);
    if (match !== null) this.setting(match[1]!, match[2] ?? '', dashes.length, indent, at);
    else if (isItem) this.listed(body, at);
  }

  end(): void {
    this.closeScalar();
    this.flush();
  }

  private setting(key: string, value: string, column: number, indent: number, at: number): void {
    const block = /^[|>][-+\d]{0,3}$/.test(value);
    if (key === 'command' || key === 'args' || key === 'entrypoint') {
      if (key !== 'args' || column !== this.column) this.flush();
      this.column = column;
      this.at = at;
      if (value === '') this.isOpen = true;
      else if (block) this.scalar = { indent, is: key === 'args' ? 'word' : 'script', lines: [] };
      else if (value.startsWith('[')) this.flowList(value);
      else this.shell(unquote(value));
      return;
    }
    if (block) {
      const is = /yaml$/i.test(key) ? 'yaml' : /\.(?:sh|bash|sbatch)$/.test(key) ? 'script' : 'skip';
      this.scalar = { indent, is, lines: [] };
      this.at = at;
    } else if (value === '') return;
    else if (key === 'name' || key === 'value') {
      this.item[key] = unquote(value);
      this.variable(at);
    } else if (/^[A-Z]/.test(key)) this.env(key, unquote(value), at);
  }

  /** `{name: X, value: y}`, `X=y`. */
  private listed(text: string, at: number): void {
    const assigned = ASSIGNMENT.exec(text);
    if (assigned !== null) this.env(assigned[1]!, assigned[2]!, at);
    if (!text.startsWith('{')) return;
    const object = readLiteral(text);
    if (object.kind !== 'map') return;
    for (const { key, value } of object.entries)
      if ((key === 'name' || key === 'value') && value.kind === 'scalar') this.item[key] = literalText(value) ?? '';
    this.variable(at);
  }

  private variable(at: number): void {
    const { name, value } = this.item;
    if (name !== undefined && value !== undefined) this.env(name, value, at);
  }

  private env(name: string, value: string, at: number): void {
    // A reference to another variable, or to a field of the pod, is known to the cluster only.
    if (!keepsEnv(name) || /\$[({\w]/.test(value)) return;
    const finding = envFinding(name, value, 'config file');
    if (finding !== null) this.give(finding, at);
  }

  private word(text: string, indent: number): void {
    if (/^[|>][-+\d]{0,3}$/.test(text)) this.scalar = { indent, is: 'word', lines: [] };
    else if (this.grows(text)) this.words.push(unquote(text));
  }

  private flowList(text: string): void {
    this.flow = null;
    const isWhole = /\] {0,40}(?:#.{0,400})?$/.test(text);
    if (!isWhole && text.length < MOST_CHARS) {
      this.flow = text;
      return;
    }
    const list = readLiteral(text);
    if (list.kind !== 'list') return;
    for (const item of list.items)
      if (item.kind === 'scalar' && this.grows(item.text)) this.words.push(literalText(item) ?? item.text);
  }

  private grows(text: string): boolean {
    this.chars += text.length + 1;
    return this.words.length < MOST_WORDS && this.chars < MOST_CHARS;
  }

  private closeScalar(): void {
    const { scalar } = this;
    this.scalar = null;
    if (scalar === null) return;
    const text = scalar.lines.map((line) => line.trimStart()).join('\n');
    if (scalar.is === 'word') this.words.push(text);
    else if (scalar.is === 'script') this.shell(text);
  }

  private flush(): void {
    const { words } = this;
    this.words = [];
    this.chars = 0;
    this.column = -1;
    if (words.length === 0) return;
    // `args` of a container whose command is that of its image.
    const script = words.length === 1 ? words[0]! : words.map(quote).join(' ');
    this.shell(words[0]!.startsWith('-') ? `python train.py ${script}` : script);
  }

  private shell(script: string): void {
    for (const { finding } of readShellSettings(script)) this.give({ ...finding, origin: 'config file' }, this.at);
  }
}

/** Without quotes and comment. */
function unquote(text: string): string {
  const quoted = /^"([^"]{0,8000})"|^'([^']{0,8000})'/.exec(text);
  return quoted === null ? text.replace(/ {1,40}#.{0,400}$/, '') : (quoted[1] ?? quoted[2]!);
}

const quote = (word: string): string =>
  /^[\w./=:,@%+-]{1,8000}$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
