import { configFinding, flagFinding } from '../../src/knowledge/config-keys.js';
import { envFinding, rankOfEnvironment } from '../../src/knowledge/env-keys.js';
import { type Literal, type LiteralEntry, readLiteralAt } from '../../src/knowledge/literal.js';
import { MbfError } from '../../src/model/errors.js';
import {
  type ConfigFinding,
  type ConfigOrigin,
  type EnvFinding,
  type EnvOrigin,
  type KnownRank,
  plainPlace,
  rankFields,
} from '../../src/model/log-rows.js';
import type { ParseSummary, RowSink } from '../../src/model/parser.js';
import { flattenSettings, settingFinding } from '../../src/text/flatten-settings.js';
import { ManifestSettings } from '../../src/text/manifest-settings.js';
import { readPlainYaml, type TreeNote, type Trees } from '../../src/text/plain-yaml.js';
import { readShellSettings, type ShellCut } from '../../src/text/shell-settings.js';
import { type EnvEntry, readEnviron, readEnvLines } from './env-dump.js';
import { MOST_BYTES, MOST_TEXT_BYTES, PlacedText, refuse } from './read-text.js';
import type { ConfigKind } from './sniff.js';
import { readToml } from './toml.js';

/** Of one environment; a process has some hundred. */
const MOST_VARIABLES = 20_000;

/** Reads a whole file of a kind that was recognised. */
export function readConfig(kind: ConfigKind, name: string, bytes: Buffer, sink: RowSink): Promise<ParseSummary> {
  return new Reading(kind, name, new PlacedText(bytes), sink).read(bytes.length);
}

class Reading {
  private readonly kind: ConfigKind;
  private readonly name: string;
  private readonly text: PlacedText;
  private readonly sink: RowSink;
  private rank: KnownRank = null;
  private host: string | null = null;

  constructor(kind: ConfigKind, name: string, text: PlacedText, sink: RowSink) {
    this.kind = kind;
    this.name = name;
    this.text = text;
    this.sink = sink;
  }

  async read(bytes: number): Promise<ParseSummary> {
    const { text } = this.text;
    refuse(bytes, this.kind.endsWith('json') ? MOST_BYTES : MOST_TEXT_BYTES);
    switch (this.kind) {
      case 'script':
        for (const { finding, at } of readShellSettings(text, (cut) => this.cutShort(cut))) this.give(finding, at);
        break;
      case 'manifest':
        this.manifest(text);
        break;
      case 'environ':
        this.environment(readEnviron(text), 'process environ');
        break;
      case 'env-dump':
        this.environment(readEnvLines(text), 'env dump');
        break;
      case 'toml':
        this.trees(readToml(text));
        break;
      case 'deepspeed-json':
      case 'hf-json':
      case 'json':
        this.trees(readJson(text));
        break;
      default:
        // The library with the first text that needs it: loading it takes a good part of a start.
        this.trees(readPlainYaml(text) ?? (await import('./yaml.js')).readYaml(text));
    }
    return rankFields(this.rank);
  }

  private give(finding: ConfigFinding | EnvFinding | null, at: number): void {
    if (finding === null) return;
    const { kind, rank, host } = this;
    const place = { ...this.text.place(at), ...rankFields(rank), host, format: `config.${kind}` };
    this.sink.logRow(finding, plainPlace(place));
  }

  /** What a limit left out; what was read before it stays. */
  private cutShort({ what, at }: ShellCut): void {
    this.sink.note({
      kind: 'config_cut',
      severity: 'warning',
      text: `Not read in full: ${what}.`,
      ...this.text.place(at),
    });
  }

  private manifest(text: string): void {
    const settings = new ManifestSettings((finding, at) => this.give(finding, at));
    for (let from = 0; from < text.length; ) {
      const at = text.indexOf('\n', from);
      const to = at < 0 ? text.length : at;
      settings.line(text.slice(from, to), from);
      from = to + 1;
    }
    settings.end();
  }

  private environment(entries: readonly EnvEntry[], origin: EnvOrigin): void {
    const variables = new Map(entries.map(({ name, value }) => [name, value]));
    this.rank = rankOfEnvironment(variables);
    this.host = variables.get('SLURMD_NODENAME') ?? variables.get('HOSTNAME') ?? null;
    let kept = 0;
    for (const { name, value, at } of entries) {
      const finding = envFinding(name, value, origin);
      if (finding === null) continue;
      kept += 1;
      if (kept > MOST_VARIABLES) {
        this.cutShort({ what: `more than ${MOST_VARIABLES} variables; further ones were left out`, at });
        break;
      }
      this.give(finding, at);
    }
  }

  /** Settings written by the run take precedence over settings meant for it. */
  private origin(): ConfigOrigin {
    // Bridge trees with their classes are written by `ConfigContainer.to_yaml`, never by hand.
    if (this.kind === 'bridge-yaml') return 'run file';
    return /^(?:run_config|hparams)(?=[._-])/i.test(this.name) ? 'run file' : 'config file';
  }

  private trees({ trees, notes }: Trees): void {
    let rows = 0;
    for (const tree of trees) {
      if (isSecretObject(tree)) continue;
      const untracked = untrackedConfig(tree);
      const origin = untracked === undefined ? this.origin() : 'run file';
      flattenSettings(untracked ?? tree, (path, value, at) => {
        rows += 1;
        // Megatron-LM's test cases name flags, which a true switches on and a false leaves away.
        const flag = path.at(-1)!;
        if (flag.startsWith('--')) {
          if (value !== 'False' && value !== null)
            this.give(flagFinding(flag, value === 'True' ? null : value, origin), at);
        } else if (path.at(-2) === 'MODEL_ARGS') this.give(configFinding(flag, value, origin), at);
        else this.give(settingFinding(path, value, origin), at);
      });
    }
    if (rows === 0) {
      const first = notes.find((note) => note.kind.endsWith('_error'));
      if (first !== undefined) {
        throw new MbfError('MBF2202', first.text, this.text.place(first.at));
      }
    }
    for (const { kind, text, at } of notes) {
      this.sink.note({ kind, text, severity: 'warning', ...this.text.place(at) });
    }
  }
}

/** A `Secret` of Kubernetes between the objects of a job: all its values are. */
function isSecretObject(tree: Literal): boolean {
  if (tree.kind !== 'map') return false;
  const textOf = (key: string): string | undefined => {
    const value = tree.entries.find((entry) => entry.key === key)?.value;
    return value?.kind === 'scalar' ? value.text : undefined;
  };
  return textOf('kind') === 'Secret' && textOf('apiVersion') !== undefined;
}

/**
 * Reads one JSON value (trailing commas and comments at line starts tolerated, as DeepSpeed users write them), and
 * notes what does not fit.
 */
export function readJson(source: string): Trees {
  // Comments are blanked, not removed, so that places stay.
  const text = source.replace(/^[ \t]{0,64}\/\/.{0,2000}$/gm, (comment) => ' '.repeat(comment.length));
  const start = text.search(/[[{]/);
  if (start < 0) throw new MbfError('MBF2202', 'is not valid JSON: expected an object or a list');
  const { value, fault } = readLiteralAt(text, start);
  const notes: TreeNote[] = [];
  if (fault !== null) {
    if (fault.what.startsWith('nested deeper')) throw new MbfError('MBF2201', fault.what);
    notes.push({ kind: 'json_error', text: `Not valid JSON: ${fault.what}.`, at: fault.at });
  }
  return { trees: [value], notes };
}

/** The settings as the run had them; undefined if the tree is not such a file. */
function untrackedConfig(tree: Literal): Literal | undefined {
  if (tree.kind !== 'map') return undefined;
  const entries: LiteralEntry[] = [];
  let isTracked = false;
  for (const { key, at, value } of tree.entries) {
    if (key === 'wandb_version') {
      isTracked = true;
      continue;
    }
    if (value.kind !== 'map') return undefined;
    const inner = value.entries.find((entry) => entry.key === 'value');
    if (inner === undefined || value.entries.some((entry) => entry.key !== 'value' && entry.key !== 'desc')) {
      return undefined;
    }
    // What W&B itself keeps there: versions, and codes of the features that were used.
    if (key === '_wandb') isTracked = true;
    else entries.push({ key, at, value: inner.value });
  }
  return isTracked ? { kind: 'map', entries, at: tree.at } : undefined;
}
