import { canonicalConfigKey, isKnownConfigKey } from '../../src/knowledge/config-keys.js';
import { keepsEnv } from '../../src/knowledge/env-keys.js';
import type { Head, Sniff } from '../../src/model/parser.js';
import { readShellSettings } from '../../src/text/shell-settings.js';
import { type EnvEntry, readEnviron, readEnvLines } from './env-dump.js';

/** What a file turned out to be; also the id of the format in its rows (`config.<kind>`). */
export type ConfigKind =
  | 'bridge-yaml'
  | 'nemo-yaml'
  | 'megatron-test-yaml'
  | 'yaml'
  | 'deepspeed-json'
  | 'hf-json'
  | 'json'
  | 'toml'
  | 'script'
  | 'manifest'
  | 'env-dump'
  | 'environ';

export interface Recognised extends Sniff {
  readonly kind: ConfigKind;
}

const YAML_NAME = /\.ya?ml$/i;
const JSON_NAME = /\.json$/i;
const TOML_NAME = /\.toml$/i;
const SCRIPT_NAME = /\.(?:sh|bash|sbatch|slurm|zsh|ksh)$/i;
const LOG_NAME = /\.(?:log|out|err|output|stdout|stderr)(?:\.\d{1,4})?$|^(?:log|slurm)-/i;
/** Names of configurations: fewer known keys are enough. */
const CONFIG_NAME =
  /(?:^|[._-])(?:config|hparams|model_config|run_config|recipe|ds_config|zero\d?|deepspeed)(?=[._-]|$)/i;
/** Names of files with such keys that are not the configuration of a run. */
const OTHER_NAME =
  /^(?:truth|package(?:-lock)?|tsconfig|composer|manifest|index|trainer_state|tokenizer(?:_config)?|special_tokens_map|generation_config|preprocessor_config|vocab|added_tokens|.*\.index|.*\.truth|.*\.meta)\.json$|^(?:docker-)?compose.*\.ya?ml$|^pyproject\.toml$/i;

const SURE = 0.95;
const LIKELY = 0.92;

/**
 * Recognises a configuration by its content; names only settle how much of it is needed. Null: it is none. Never
 * throws.
 */
export function recogniseConfig(head: Head): Recognised | null {
  const { bytes, name } = head;
  if (bytes.length === 0 || OTHER_NAME.test(name)) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1').replace(/^ï»¿/, '');
  if (text.includes('\0')) return environ(text);
  if (isScript(text, name)) return script(text);
  if (TOML_NAME.test(name)) return settings(text, name, 'toml', /^[ \t]{0,64}([\w.-]{1,200})[ \t]{0,64}=/gm, 3);
  if (/^\s{0,1000}[[{]/.test(text)) return JSON_NAME.test(name) || !LOG_NAME.test(name) ? json(text, name) : null;
  if (YAML_NAME.test(name)) return yaml(text, name, 3);
  const environment = envDump(text);
  if (environment !== null) return environment;
  // A YAML without its name: only Bridge's and NeMo's own trees are beyond doubt, and only from the first line on.
  if (!LOG_NAME.test(name) && /^(?:---\s{0,10}\n)?_target_: (?:megatron|nemo)/.test(text)) return yaml(text, name, 3);
  return null;
}

function environ(text: string): Recognised | null {
  if (!/^[A-Za-z_]\w{0,199}=/.test(text)) return null;
  const entries = readEnviron(text);
  const pieces = text.split('\0').filter((piece) => piece !== '').length;
  if (entries.length < 3 || entries.length < 0.8 * pieces) return null;
  return { kind: 'environ', score: SURE, why: 'It is the environment of a process, as /proc/PID/environ has it.' };
}

function isScript(text: string, name: string): boolean {
  if (LOG_NAME.test(name)) return false;
  return SCRIPT_NAME.test(name) || /^#!.{0,80}\b(?:ba|z|k|da)?sh\b/.test(text);
}

function script(text: string): Recognised | null {
  const shellSettings = readShellSettings(text).filter(
    ({ finding }) => finding.row === 'env' || isKnownConfigKey(finding.rawKey),
  );
  if (shellSettings.length === 0) return null;
  return { kind: 'script', score: SURE, why: 'It is a shell script that sets flags or variables of a training job.' };
}

/** How many settings the dictionary knows, each counted once. */
function knownKeys(text: string, pattern: RegExp): Set<string> {
  const keys = new Set<string>();
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const key = match[1]!;
    // Everyday words are not evidence.
    if (
      isKnownConfigKey(key) &&
      !/^(?:seed|load|save|profile|precision|optimizer|activation|model_type|bias)$/.test(key)
    ) {
      keys.add(canonicalConfigKey(key));
    }
  }
  return keys;
}

function settings(text: string, name: string, kind: ConfigKind, pattern: RegExp, need: number): Recognised | null {
  const keys = knownKeys(text, pattern);
  if (keys.size < (CONFIG_NAME.test(name) ? Math.max(1, need - 1) : need)) return null;
  const some = [...keys].slice(0, 3).join(', ');
  return { kind, score: LIKELY, why: `It sets ${keys.size} known settings in its beginning (${some}).` };
}

const YAML_KEY = /^[ \t]{0,200}(?:- )?["']?(?:--)?([A-Za-z_][\w.-]{0,200})["']?[ \t]{0,20}:(?:[ \t]|$|\r)/gm;

function yaml(text: string, name: string, need: number): Recognised | null {
  if (/^[ \t]{0,200}_target_: megatron\.bridge\./m.test(text)) {
    return { kind: 'bridge-yaml', score: SURE, why: 'It is a configuration tree of Megatron Bridge.' };
  }
  if (/^[ \t]{0,200}_target_: (?:nemo|megatron)[._]/m.test(text)) {
    return { kind: 'nemo-yaml', score: SURE, why: 'It is a configuration tree of NeMo.' };
  }
  if (
    /^apiVersion:/m.test(text) &&
    /^ {0,200}(?:- )?(?:containers|entrypoint|runtimeEnvYAML):(?! {0,40}\[\])/m.test(text)
  ) {
    return { kind: 'manifest', score: SURE, why: 'It describes a job of Kubernetes.' };
  }
  if (/^MODEL_ARGS:/m.test(text)) {
    return { kind: 'megatron-test-yaml', score: SURE, why: 'It is a model_config.yaml of Megatron-LM tests.' };
  }
  const nemo = /^trainer:/m.test(text) && /^model:/m.test(text);
  return settings(text, name, nemo ? 'nemo-yaml' : 'yaml', YAML_KEY, need);
}

const JSON_KEY = /"([A-Za-z_][\w.-]{0,200})"[ \t\r\n]{0,100}:/g;

function json(text: string, name: string): Recognised | null {
  // Our own results and snapshots in JSON carry such keys; so do traces.
  if (/"(?:schema"\s{0,10}:\s{0,10}"mbforensics|device_traces"|traceEvents"|weight_map"|compilerOptions")/.test(text))
    return null;
  if (/"(?:train_micro_batch_size_per_gpu|zero_optimization|train_batch_size)"\s{0,10}:/.test(text)) {
    return { kind: 'deepspeed-json', score: SURE, why: 'It is a configuration of DeepSpeed.' };
  }
  if (/"(?:architectures|model_type|peft_type)"\s{0,10}:/.test(text) && knownKeys(text, JSON_KEY).size >= 3) {
    return { kind: 'hf-json', score: SURE, why: 'It is a model configuration of Hugging Face.' };
  }
  if (!CONFIG_NAME.test(name)) {
    // Consecutive records are results: a configuration states each key once.
    const keys = [...text.matchAll(JSON_KEY)].map((match) => match[1]!).filter(isKnownConfigKey);
    if (keys.length > 2 * new Set(keys).size) return null;
  }
  // Without a name of a configuration file, JSON with such keys is more likely a result.
  return settings(text, name, 'json', JSON_KEY, CONFIG_NAME.test(name) ? 3 : 6);
}

function envDump(text: string): Recognised | null {
  // The head may end in the middle of a line.
  const lines = text
    .slice(0, Math.max(text.lastIndexOf('\n'), 0) || undefined)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const entries: EnvEntry[] = readEnvLines(text);
  const kept = entries.filter(
    (entry) => keepsEnv(entry.name) || /^(?:PATH|HOME|PWD|USER|SHELL|LANG|HOSTNAME)$/.test(entry.name),
  );
  if (entries.length < 5 || kept.length < 3 || entries.length < 0.6 * lines.length) return null;
  if (!entries.some((entry) => keepsEnv(entry.name))) return null;
  return { kind: 'env-dump', score: SURE, why: 'Its lines are environment variables.' };
}

export function sniffConfig(head: Head): Sniff {
  return recogniseConfig(head) ?? { score: 0, why: 'It sets nothing that a training job is configured with.' };
}
