/**
 * Settings in shell text: launch scripts, sbatch files, command lines, `set -x` echoes. Nothing is run: assignments are
 * followed from top to bottom. Values that only a shell could know (command substitutions, positional parameters,
 * variables set elsewhere) keep their `$`.
 *
 * Decisions. Both branches of `if` and `case` are read and both give rows, since it is unknown which one ran; a
 * variable that branches (or `&&`) set differently is not resolved. A later assignment wins over an earlier one.
 * `${X:-1}` of an unknown X is 1. Arguments kept in arrays or texts (`GPT_ARGS="--num-layers 32"`) are read where they
 * are expanded into a command, with the line they are written on; those that no command of the text expands are read
 * too. Here-documents are not read.
 */
import { configFinding, flagFinding, isKnownConfigKey, normaliseConfigValue } from '../knowledge/config-keys.js';
import { envFinding, keepsEnv } from '../knowledge/env-keys.js';
import { readLiteral } from '../knowledge/literal.js';
import { loadData } from '../knowledge/load-data.js';
import { TRAINER_KEY, trainerOfCommand } from '../knowledge/trainers.js';
import type { ConfigFinding, EnvFinding } from '../model/log-rows.js';
import { flattenSettings } from './flatten-settings.js';
import { evaluateArithmetic } from './shell-arithmetic.js';
import {
  joinMapped,
  type MappedText,
  MOST_WORDS,
  mapped,
  placeOf,
  type ShellWord,
  shellStatements,
  sliceMapped,
  type WordPart,
  wordText,
} from './shell-text.js';

export interface ShellSetting {
  readonly finding: ConfigFinding | EnvFinding;
  /** Index in the text where the setting is written. */
  readonly at: number;
}

/** Text handed to `bash -c` or `eval` is read in its turn this deep. */
const MOST_NESTED = 4;
const MOST_SETTINGS = 20_000;
/**
 * Longest value a variable takes; and what all expansions of a text may come to, since each may double the one before.
 */
const MOST_VALUE = 65_536;
const MOST_EXPANDED = 1024 * 1024;
/** Characters that `NAME+=more` copies, all appends of a text together. */
const MOST_APPENDED = 8 * 1024 * 1024;

/** What a text has too much of, and where reading it fully ended. What was read before counts. */
export interface ShellCut {
  readonly what: string;
  readonly at: number;
}

interface Variable {
  /** Every value assigned, the newest last; arrays by their words. */
  readonly values: (readonly MappedText[])[];
  isArray: boolean;
  /** Branches assigned different values. */
  isAmbiguous: boolean;
  /** Expanded into a command whose arguments were read, or into another variable. */
  isUsed: boolean;
}

/**
 * Settings of a shell text, in the order of their places. Its time is linear in the text; `onCut` receives the first
 * limit that it exceeds.
 */
export function readShellSettings(text: string, onCut?: (cut: ShellCut) => void): ShellSetting[] {
  const reader = new ShellReader();
  reader.directives(text);
  reader.read(mapped(text, 0), 0);
  reader.readUnused();
  if (reader.cut !== null) onCut?.(reader.cut);
  return reader.settings.sort((a, b) => a.at - b.at);
}

/** Commands and their options: `src/knowledge/inputs/shell-commands.yaml`. */
const DATA = loadData('inputs/shell-commands') as Readonly<
  Record<'commands' | 'slurm' | 'mpi', Record<string, string>>
> &
  Readonly<Record<'trainers' | 'launcher' | 'switches', readonly string[]>>;
const COMMANDS = new Map(Object.entries(DATA.commands)) as ReadonlyMap<string, State>;
const SLURM_OPTIONS: ReadonlyMap<string, string> = new Map(Object.entries(DATA.slurm));
const MPI_OPTIONS: ReadonlyMap<string, string> = new Map(Object.entries(DATA.mpi));

/** What the words that follow mean. */
type State = 'other' | 'slurm' | 'launcher' | 'mpi' | 'python' | 'container' | 'trainer';

const KEYWORDS = new Set(['then', 'else', 'do', '{', '}', '!', 'time', 'elif']);
const OPENERS = new Set(['if', 'case']);
const CLOSERS = new Set(['fi', 'esac']);
const ASSIGNMENT = /^([A-Za-z_]\w{0,99})(\+?)=/;
const FLAG = /^--?[A-Za-z]/;
/** `model.x=4`, `++model.x=4`, `~model.x`, `+x=4`. */
const OVERRIDE = /^[+~]{0,2}[A-Za-z_][\w.@/-]{0,200}=/;

class ShellReader {
  readonly settings: ShellSetting[] = [];
  private readonly variables = new Map<string, Variable>();
  private readonly seen = new Set<string>();
  cut: ShellCut | null = null;
  private expanded = 0;
  private appended = 0;
  /** Of the statement that is read. */
  private at = 0;
  /** Variables the command being read expanded first. */
  private newlyUsed: Variable[] = [];
  /** Open `if` and `case`. */
  private depth = 0;

  // ---- rows

  private give(finding: ConfigFinding | EnvFinding | null, at: number): void {
    if (finding === null) return;
    if (this.settings.length >= MOST_SETTINGS) {
      this.cutShort(`more than ${MOST_SETTINGS} settings; further ones were left out`, at);
      return;
    }
    const identity = `${at} ${finding.row} ${finding.key} ${finding.value}`;
    if (this.seen.has(identity)) return;
    this.seen.add(identity);
    this.settings.push({ finding, at });
  }

  private cutShort(what: string, at = this.at): void {
    this.cut ??= { what, at };
  }

  private env(name: string, value: string | null, at: number): void {
    this.give(envFinding(name, value, 'script'), at);
  }

  /** `NAME=value`; false for any other text. */
  private assigned(text: string, at: number): boolean {
    const match = ASSIGNMENT.exec(text);
    if (match !== null) this.env(match[1]!, text.slice(match[0].length), at);
    return match !== null;
  }

  private flag(flag: string, value: string | null, at: number): void {
    this.give(flagFinding(flag, value, 'command line'), at);
  }

  // ---- scheduler directives

  directives(text: string): void {
    const pattern = /^[ \t]{0,8}#(SBATCH|PBS)[ \t]{1,64}(\S.{0,1999})$/gm;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const at = match.index + match[0].length - match[2]!.length;
      if (match[1] === 'SBATCH') {
        const words = [...shellStatements(mapped(match[2]!, at))].flatMap((statement) => statement.words);
        this.slurmOptions(words.map((word) => this.plain(word)));
      } else {
        const nodes = /(?:select|nodes)=(\d{1,6})/.exec(match[2]!)?.[1];
        const gpus = /(?:ngpus|gpus)=(\d{1,4})/.exec(match[2]!)?.[1];
        if (nodes !== undefined) this.give(configFinding('slurm.nodes', nodes, 'command line'), at);
        if (gpus !== undefined) this.give(configFinding('slurm.gpus_per_node', gpus, 'command line'), at);
      }
    }
  }

  private plain(word: ShellWord): MappedText {
    return mapped(wordText(word), word.at);
  }

  private slurmOptions(words: readonly MappedText[]): void {
    for (let index = 0; index < words.length; index += 1) index += this.slurmOption(words, index);
  }

  /** Reads the option at `index`; returns how many words it took beyond itself. */
  private slurmOption(words: readonly MappedText[], index: number): number {
    const word = words[index]!;
    const match = /^(?:--([\w-]{1,40})(?:=([\s\S]*))?|-([A-Za-z])=?([\s\S]*))$/.exec(word.text);
    if (match === null) return 0;
    const name = (match[1] ?? match[3]!).replaceAll('-', '_');
    let value = match[2] ?? (match[4] === '' ? undefined : match[4]);
    let taken = 0;
    const option = SLURM_OPTIONS.get(name);
    if (option === undefined && name !== 'export') return 0;
    if (value === undefined && index + 1 < words.length) {
      value = words[index + 1]!.text;
      taken = 1;
    }
    if (value === undefined) return taken;
    const at = placeOf(word, 0);
    if (option === undefined) {
      for (const part of value.split(',')) this.assigned(part, at);
      return taken;
    }
    const count =
      option === 'gres' || option.startsWith('gpus')
        ? /^(?:gpu:)?(?:[A-Za-z]\w{0,40}:)?(\d{1,4})/.exec(value)?.[1]
        : value;
    if (count === undefined) return taken;
    const finding = configFinding(`slurm.${option}`, count, 'command line');
    this.give({ ...finding, rawKey: match[1] === undefined ? `-${name}` : `--${match[1]}` }, at);
    return taken;
  }

  // ---- statements

  read(source: MappedText, nested: number): void {
    let isConditional = false;
    for (const { words, operator, cutAt } of shellStatements(source)) {
      if (cutAt >= 0)
        this.cutShort(`a command of more than ${MOST_WORDS} words; its further words were left out`, cutAt);
      if (words.length > 0) this.at = words[0]!.at;
      this.statement(words, isConditional, nested);
      isConditional = operator === '&&' || operator === '||';
    }
  }

  private statement(all: readonly ShellWord[], isConditional: boolean, nested: number): void {
    let from = 0;
    for (;;) {
      const first = all[from] === undefined ? '' : wordText(all[from]!);
      if (OPENERS.has(first)) {
        this.depth += 1;
        // `if X=1 command`: the condition is a command; `case … in` is none.
        from = first === 'if' ? from + 1 : all.length;
      } else if (CLOSERS.has(first)) {
        this.depth = Math.max(0, this.depth - 1);
        from += 1;
      } else if (KEYWORDS.has(first) || /^\+{1,8}$/.test(first)) from += 1;
      else break;
    }
    const words = from === 0 ? all : all.slice(from);
    const unsure = isConditional || this.depth > 0;
    let index = 0;
    const assigned: { name: string; value: string; at: number }[] = [];
    const values: (() => void)[] = [];
    for (; index < words.length; index += 1) {
      const word = words[index]!;
      const match = ASSIGNMENT.exec(
        word.parts[0]?.kind === 'text' && !word.parts[0].isQuoted ? word.parts[0].value.text : '',
      );
      if (match === null) break;
      const value = this.assignedValue(word, match[0].length);
      assigned.push({ name: match[1]!, value: textOf(value), at: word.at });
      values.push(() => this.assign(match[1]!, value, match[2] === '+', word.array !== null, unsure));
    }
    if (index === words.length) {
      for (const assign of values) assign();
      return;
    }
    for (const { name, value, at } of assigned) this.env(name, value, at);
    this.command(words.slice(index), unsure, nested);
  }

  private assignedValue(word: ShellWord, from: number): MappedText[] {
    if (word.array !== null) return word.array.flatMap((item) => this.expand(item));
    const first = word.parts[0]!;
    if (first.kind !== 'text') return [];
    const remainingPart = { ...first, value: sliceMapped(first.value, from, first.value.text.length) };
    return [this.expandWhole({ ...word, parts: [remainingPart, ...word.parts.slice(1)] })];
  }

  private assign(
    name: string,
    value: readonly MappedText[],
    isAppended: boolean,
    isArray: boolean,
    unsure: boolean,
  ): void {
    const before = this.variables.get(name);
    const old = before?.values.at(-1);
    const text = textOf(value);
    if (text.length > MOST_VALUE) {
      this.cutShort(`a value of more than ${MOST_VALUE} characters; its variable was not followed`);
      return;
    }
    if (before === undefined || old === undefined) {
      this.variables.set(name, { values: [value], isArray, isAmbiguous: false, isUsed: false });
      return;
    }
    if (isAppended) {
      if (this.appended > MOST_APPENDED) {
        this.cutShort('too many long values that are appended to; further appends were left out');
        return;
      }
      const length = sizeOf(old);
      this.appended += old.length;
      if (length + text.length > MOST_VALUE) {
        this.cutShort(`a value of more than ${MOST_VALUE} characters; what was appended beyond was left out`);
        return;
      }
      this.appended += length;
      before.values[before.values.length - 1] =
        isArray || before.isArray ? [...old, ...value] : [joinMapped([...old, ...value])];
      return;
    }
    const oldText = textOf(old);
    before.isArray = isArray;
    // `ARGS="$ARGS --more"` goes on; anything else in a branch leaves open which value holds.
    if (text.startsWith(oldText) && oldText !== '') before.values[before.values.length - 1] = value;
    else if (unsure) {
      if (oldText !== text && oldText !== '') before.isAmbiguous = true;
      before.values.push(value);
    } else {
      before.values.splice(0, before.values.length, value);
      before.isAmbiguous = false;
    }
  }

  // ---- expansion

  private lookUp(name: string, fallback: MappedText | null): readonly MappedText[] | null {
    const variable = this.variables.get(name);
    if (variable === undefined) return fallback === null ? null : [this.expandFallback(fallback)];
    if (variable.isAmbiguous) return null;
    const value = variable.values.at(-1)!;
    if (!this.expands(value)) return null;
    if (fallback !== null && value.every((item) => item.text === '')) return [this.expandFallback(fallback)];
    if (!variable.isUsed) this.newlyUsed.push(variable);
    variable.isUsed = true;
    return value;
  }

  /** Counts a value that is copied; false if the copies of a text are too many. */
  private expands(value: readonly MappedText[]): boolean {
    if (this.expanded <= MOST_EXPANDED) this.expanded += sizeOf(value);
    if (this.expanded <= MOST_EXPANDED) return true;
    this.cutShort(`variables that expand to more than ${MOST_EXPANDED} characters; further ones stay as written`);
    return false;
  }

  private partValue(part: Exclude<WordPart, { kind: 'text' }>): readonly MappedText[] | null {
    if (part.kind === 'variable') return this.lookUp(part.name, part.fallback);
    const value = evaluateArithmetic(part.expression, (name) => {
      const items = this.lookUp(name, null);
      return items === null ? null : textOf(items);
    });
    return value === null ? null : [mapped(String(value), placeOf(part.raw, 0))];
  }

  /** Defaults may name other variables: one level of them is followed. */
  private expandFallback(fallback: MappedText): MappedText {
    const match = /^\$\{?([A-Za-z_]\w{0,99})\}?$/.exec(fallback.text);
    const value = match === null ? undefined : this.variables.get(match[1]!);
    if (value === undefined || value.isAmbiguous || !this.expands(value.values.at(-1)!)) return fallback;
    return joinMapped(value.values.at(-1)!);
  }

  /** As in an assignment: no splitting. */
  private expandWhole(word: ShellWord): MappedText {
    const parts = word.parts.map((part): MappedText => {
      if (part.kind === 'text') return part.value;
      const value = this.partValue(part);
      if (value === null) return part.raw;
      return joinMapped(value.flatMap((item, index) => (index === 0 ? [item] : [mapped(' ', placeOf(item, 0)), item])));
    });
    return parts.length === 0 ? mapped('', word.at) : joinMapped(parts);
  }

  /** As in a command: unquoted variables are split at blanks, `"${X[@]}"` gives its words. */
  private expand(word: ShellWord): MappedText[] {
    const fields: MappedText[] = [];
    let open: MappedText[] = [];
    let isOpen = false;
    const close = (): void => {
      if (isOpen) fields.push(open.length === 0 ? mapped('', word.at) : joinMapped(open));
      open = [];
      isOpen = false;
    };
    for (const part of word.parts) {
      const value = part.kind === 'text' ? null : this.partValue(part);
      if (part.kind === 'text' || value === null) {
        open.push(part.kind === 'text' ? part.value : part.raw);
        isOpen = true;
      } else if (part.isQuoted && (part.kind === 'arithmetic' || !part.isArray)) {
        open.push(joinMapped(value.flatMap((item) => [item])));
        isOpen = true;
      } else {
        const pieces = part.isQuoted ? value : value.flatMap(splitBlanks);
        pieces.forEach((piece, index) => {
          if (index > 0) close();
          open.push(piece);
          isOpen = true;
        });
      }
    }
    close();
    return fields;
  }

  // ---- commands

  private command(words: readonly ShellWord[], unsure: boolean, nested: number): void {
    const first = wordText(words[0]!);
    if (/^(?:export|declare|typeset|readonly|local)$/.test(first)) {
      this.declaration(first, words.slice(1), unsure);
      return;
    }
    if (first === 'unset') {
      for (const word of words.slice(1)) {
        const name = wordText(word);
        this.variables.delete(name);
        if (!unsure) this.env(name, null, word.at);
      }
      return;
    }
    const used: Variable[] = [];
    this.newlyUsed = used;
    const fields = words.flatMap((word) => this.expand(word));
    if (!this.program(fields, nested)) for (const variable of used) variable.isUsed = false;
  }

  private declaration(what: string, words: readonly ShellWord[], unsure: boolean): void {
    const options = words.filter((word) => /^-[A-Za-z]{1,8}$/.test(wordText(word))).map(wordText);
    const exports = what === 'export' || options.some((option) => option.includes('x'));
    for (const word of words) {
      const expanded = this.expandWhole(word);
      const match = ASSIGNMENT.exec(expanded.text);
      if (match === null) {
        const value = exports ? this.lookUp(wordText(word), null) : null;
        if (value !== null) this.env(wordText(word), textOf(value), word.at);
        continue;
      }
      const name = match[1]!;
      const value =
        word.array === null
          ? [sliceMapped(expanded, match[0].length, expanded.text.length)]
          : this.assignedValue(word, match[0].length);
      this.assign(name, value, match[2] === '+', word.array !== null, unsure);
      if (exports) this.env(name, textOf(value), word.at);
    }
  }

  /** Reads a command's words; false if it starts nothing whose arguments are settings. */
  private program(words: readonly MappedText[], nested: number): boolean {
    let state: State = 'other';
    let isFound = false;
    for (let index = 0; index < words.length; index += 1) {
      const word = words[index]!;
      const { text } = word;
      const base = text.slice(text.lastIndexOf('/') + 1);
      if (state === 'trainer') {
        this.trainer(words.slice(0, index));
        this.arguments(words.slice(index));
        return true;
      }
      if (FLAG.test(text)) {
        if (/^-[a-z]{0,4}c$/.test(base) && index > 0 && /^(?:ba|z|da)?sh$/.test(baseName(words[index - 1]!))) {
          const script = words[index + 1];
          if (script !== undefined && nested < MOST_NESTED) this.read(script, nested + 1);
          return true;
        }
        const before = index;
        // `torchrun -m package.train`, `accelerate launch -m package.train`.
        const isModule = text === '-m' || (text === '--module' && state === 'launcher');
        if (isModule && /^(?:other|python|launcher)$/.test(state) && words[index + 1] !== undefined) {
          const module = words[index + 1]!.text;
          const isLauncher = /^(?:torch\.distributed\.(?:run|launch)|deepspeed\.launcher\.\w{1,40})$|^accelerate\b/;
          state = isLauncher.test(module) ? 'launcher' : 'trainer';
          index += 1;
        } else if (state === 'slurm') index += this.slurmOption(words, index);
        else if (state === 'launcher') index += this.launcherOption(words, index);
        else if (state === 'mpi') index += this.mpiOption(words, index);
        else if (state === 'container') index += this.containerOption(words, index);
        if (index > before) isFound = true;
        continue;
      }
      const started = base === 'launch' && index > 0 ? 'launcher' : COMMANDS.get(base);
      if (started !== undefined) state = started;
      else if (/^python[\d.]{0,5}$/.test(base)) state = 'python';
      else if (/\.(?:py|sh|bash|sbatch|slurm)$/.test(base) || (index === 0 && DATA.trainers.includes(base)))
        state = 'trainer';
      else if (base === 'eval' && nested < MOST_NESTED) {
        const remainingWords = words.slice(index + 1).flatMap((item) => [mapped(' ', placeOf(item, 0)), item]);
        if (remainingWords.length > 0) this.read(joinMapped(remainingWords), nested + 1);
        return true;
      } else if (state === 'other' || state === 'slurm' || state === 'mpi') {
        // `env X=1 command`, and words that expand to variables set before `srun`.
        if (index > 0) this.assigned(text, placeOf(word, 0));
      }
      if (state !== 'other' && state !== 'python') isFound = true;
    }
    return isFound && state !== 'container';
  }

  /** The trainer that a command starts, by its last word that names one: its script rather than its launcher. */
  private trainer(words: readonly MappedText[]): void {
    for (const word of [...words].reverse()) {
      const name = FLAG.test(word.text) ? null : trainerOfCommand(word.text);
      if (name === null) continue;
      this.give({ ...configFinding(TRAINER_KEY, name, 'command line'), rawKey: word.text }, placeOf(word, 0));
      return;
    }
  }

  private optionValue(
    words: readonly MappedText[],
    index: number,
    given: string | undefined,
  ): readonly [string | null, number] {
    if (given !== undefined) return [given, 0];
    const next = words[index + 1]?.text;
    return next === undefined || FLAG.test(next) ? [null, 0] : [next, 1];
  }

  private launcherOption(words: readonly MappedText[], index: number): number {
    const match = /^(--?[\w-]{1,60})(?:=([\s\S]*))?$/.exec(words[index]!.text);
    if (match === null) return 0;
    const name = match[1]!.replace(/^-+/, '').replaceAll('-', '_');
    if (DATA.switches.includes(name)) {
      if (DATA.launcher.includes(name)) this.flag(match[1]!, null, placeOf(words[index]!, 0));
      return 0;
    }
    const [value, taken] = this.optionValue(words, index, match[2]);
    if (value === null) return 0;
    if (DATA.launcher.includes(name)) this.flag(match[1]!, value, placeOf(words[index]!, 0));
    // `--tee 3 train.py`: the value is not the script.
    return taken;
  }

  private mpiOption(words: readonly MappedText[], index: number): number {
    const text = words[index]!.text;
    const at = placeOf(words[index]!, 0);
    const name = text.replace(/^-+/, '');
    if (name === 'x' || name === 'genv' || name === 'env') {
      const next = words[index + 1]?.text ?? '';
      if (!this.assigned(next, at) && name !== 'x' && keepsEnv(next)) {
        this.env(next, words[index + 2]?.text ?? null, at);
        return 2;
      }
      return 1;
    }
    const option = MPI_OPTIONS.get(name);
    const value = words[index + 1]?.text;
    if (option === undefined || value === undefined) return 0;
    this.give({ ...configFinding(option, value, 'command line'), rawKey: text }, at);
    return 1;
  }

  private containerOption(words: readonly MappedText[], index: number): number {
    const match = /^(?:-e|--env|--runtime-env-json)(?:=([\s\S]*))?$/.exec(words[index]!.text);
    if (match === null) return 0;
    const text = match[1] ?? words[index + 1]?.text ?? '';
    const at = placeOf(words[index]!, 0);
    if (text.trimStart().startsWith('{')) this.runtimeEnvironment(text, at);
    else this.assigned(text, at);
    return match[1] === undefined ? 1 : 0;
  }

  /** Ray sets these for the workers of a job. */
  private runtimeEnvironment(json: string, at: number): void {
    flattenSettings(readLiteral(json), (path, value) => {
      if (path.at(-2) === 'env_vars') this.env(path.at(-1)!, value, at);
    });
  }

  /** Flags and overrides of a training program. */
  private arguments(words: readonly MappedText[]): void {
    for (let index = 0; index < words.length; index += 1) {
      const word = words[index]!;
      const { text } = word;
      const at = placeOf(word, 0);
      if (FLAG.test(text)) {
        const equals = text.indexOf('=');
        if (equals > 0) {
          this.flag(text.slice(0, equals), text.slice(equals + 1), at);
          continue;
        }
        const values: string[] = [];
        while (index + 1 < words.length && !this.beginsSetting(words[index + 1]!.text, values.length)) {
          values.push(words[index + 1]!.text);
          index += 1;
        }
        this.flag(text, values.length === 0 ? null : values.length === 1 ? values[0]! : JSON.stringify(values), at);
      } else if (/^~[A-Za-z_][\w.@/-]{0,200}$/.test(text)) {
        this.give({ ...configFinding(text, null, 'command line'), rawKey: text }, at);
      } else if (OVERRIDE.test(text)) {
        const equals = text.indexOf('=');
        const key = text.slice(0, equals);
        if (/[.+~@/]/.test(key) || isKnownConfigKey(key)) {
          const value = key.startsWith('~') ? null : normaliseConfigValue(text.slice(equals + 1));
          this.give({ ...configFinding(key, value, 'command line'), rawKey: key }, at);
        }
      }
    }
  }

  /** Whether a word begins the next setting rather than being a value of the one before. */
  private beginsSetting(text: string, values: number): boolean {
    if (FLAG.test(text) || /^~[A-Za-z_][\w.]{0,200}$/.test(text)) return true;
    if (!OVERRIDE.test(text)) return false;
    const key = text.slice(0, text.indexOf('='));
    // `--config_overrides n_embd=64,n_head=2` is a value.
    return /[.+~]/.test(key) || (!text.includes(',') && isKnownConfigKey(key)) || values > 0;
  }

  /** Arguments that no command of this text expands: a script that another one sources, or branches that differ. */
  readUnused(): void {
    for (const variable of this.variables.values()) {
      if (variable.isUsed) continue;
      for (const value of variable.values) {
        const words = value.flatMap((item) => (variable.isArray ? [item] : splitBlanks(item)));
        const flags = words.filter((word) => FLAG.test(word.text) && isKnownConfigKey(word.text.split('=')[0]!));
        if (flags.length === 0) continue;
        if (!this.program(words, MOST_NESTED)) this.arguments(words);
      }
    }
  }
}

/** The items of a value as one text. */
const textOf = (value: readonly MappedText[]): string => value.map((item) => item.text).join(' ');

/** Characters of a value, each item with one more: items may be empty. */
function sizeOf(value: readonly MappedText[]): number {
  return value.reduce((sum, item) => sum + item.text.length + 1, 0);
}

function baseName(word: MappedText): string {
  return word.text.slice(word.text.lastIndexOf('/') + 1);
}

/** Words between blanks; quotes inside a value are taken off where they enclose a word, as `eval` would. */
function splitBlanks(value: MappedText): MappedText[] {
  const words: MappedText[] = [];
  const pattern = /"[^"]{0,4096}"|'[^']{0,4096}'|[^\s]+/g;
  for (let match = pattern.exec(value.text); match !== null; match = pattern.exec(value.text)) {
    const isQuoted = /^["']/.test(match[0]) && match[0].length > 1 && match[0].at(-1) === match[0][0];
    const inset = isQuoted ? 1 : 0;
    words.push(sliceMapped(value, match.index + inset, match.index + match[0].length - inset));
  }
  return words;
}
