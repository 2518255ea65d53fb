import { isKnownConfigKey } from '../../../../src/knowledge/config-keys.js';
import { envFinding, keptEnv } from '../../../../src/knowledge/env-keys.js';
import { TRAINER_KEY } from '../../../../src/knowledge/trainers.js';
import { ManifestSettings } from '../../../../src/text/manifest-settings.js';
import { readShellSettings } from '../../../../src/text/shell-settings.js';
import type { BlockCode, Emit, LineCode } from '../contract.js';

/** Of variables that are kept; names that could begin a line of prose are excluded. */
const ENV_ANCHORS: readonly string[] = [
  ...new Set([
    ...keptEnv()
      .filter((name) => name.length >= 7 && name.includes('_') && !name.endsWith('*'))
      .map((name) => `${name}=`),
    ...keptEnv()
      .filter((name) => name.endsWith('*') && name.length >= 9)
      .map((name) => name.slice(0, -1)),
  ]),
];

/** `set -x`: every command as the shell ran it, after expansion. */
export const shellTrace: LineCode = {
  id: 'shell.trace',
  anchors: ENV_ANCHORS,
  read({ command }, emit) {
    for (const { finding } of readShellSettings(command!)) emit(finding);
  },
};

const LAUNCHER =
  /(?:^|[\s:'"[(/])(?:torchrun|srun|sbatch|mpiexec|mpirun|deepspeed|accelerate|python[\d.]{0,5}|(?:swift|megatron) (?:sft|pt|rlhf)|llamafactory-cli|axolotl|trl|tune run|vllm serve|nemo llm|(?:docker|podman) run)\s/;

/** Of a shell that waits for a command: `user@host:~$ `, `(base) root@host:/work# `, `$ `. A bare `# ` is a comment. */
const PROMPT =
  /^\s{0,8}(?:(?:\([\w.-]{1,40}\) {0,2})?\[?[\w.-]{1,64}@[\w.-]{1,64}[: ][^\s$#%>]{0,200}(?: [^\s$#%>]{1,100})?[$#%>] {1,4}|[$%❯] {1,4})/;
/** A command that begins with its program. */
const PROGRAM = /^\s{0,8}python[\d.]{0,5} (?:-m (?!(?:pip|venv|ensurepip) )[\w.]{1,200}|[\w./-]{1,200}\.py) /;
/** A command that begins with variables. */
const DIRECT = /^\s{0,8}(?:export |env )?[A-Z][A-Z0-9_]{2,80}=/;

/** Where the word of a launcher or script begins, or -1. */
function commandStart(line: string): number {
  const script = line.search(/\.(?:py|sh) /);
  const match = LAUNCHER.exec(line);
  const launcher = match === null ? -1 : match.index + match[0].search(/\w/);
  if (script < 0 && launcher < 0) return -1;
  // Back to the beginning of its path.
  let start = launcher < 0 || (script >= 0 && script < launcher) ? script : launcher;
  while (start > 0 && !/[\s'"[(=]/.test(line[start - 1]!)) start -= 1;
  // Variables that are set for this command precede it.
  const variables =
    /(?:^|[\s$])((?:[A-Z][A-Z0-9_]{2,80}=(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"']{0,2000})\s{1,16}){1,32})$/;
  const assigned = variables.exec(line.slice(0, start))?.[1] ?? '';
  return start - assigned.length;
}

/**
 * A command line printed by a launcher, or pasted above its output. Help and error texts of argument parsers look
 * alike: they name no values.
 */
export const commandLine: LineCode = {
  id: 'shell.command-line',
  anchors: ENV_ANCHORS,
  read({ line }, emit) {
    if (/^\s{0,200}(?:\+{1,16} |usage:|File ")/.test(line!) || /\[-h\]|: error: |unrecognized arguments/.test(line!))
      return;
    emitCommand(line!, emit);
  },
};

/** The words of a command as Python and JSON print a list of them. */
const LIST = /\[((?:(?:'[^'\n]{0,2000}'|"[^"\n]{0,2000}")(?:, {0,4})?){2,400})\]/;
const ITEM = /'[^'\n]{0,2000}'|"[^"\n]{0,2000}"/g;

/**
 * Prose has at most one known setting; a trainer that is started counts as one. Behind a prompt, or where the line
 * begins with the command, a variable is enough, and so is any setting of a module or file that Python starts there.
 */
function emitCommand(line: string, emit: Emit): void {
  const list = LIST.exec(line)?.[1]?.match(ITEM)?.join(' ');
  const text =
    list === undefined
      ? line
      : /^["']--/.test(list)
        ? `python train.py ${list}`
        : ` ${list.replace(/^["']([^"']*)["']/, '$1')}`;
  const at = commandStart(text);
  if (at < 0) return;
  const prompt = PROMPT.exec(text)?.[0].length ?? 0;
  const isDirect = prompt > 0 || DIRECT.test(text) || text.slice(0, at).trim() === '';
  const settings = readShellSettings(text.slice(isDirect ? prompt : at));
  const known = settings.filter(
    ({ finding }) =>
      (finding.row === 'env' && isDirect) ||
      (finding.row === 'config' && (finding.key === TRAINER_KEY || isKnownConfigKey(finding.rawKey))),
  );
  const isSure = PROGRAM.test(text) || prompt > 0 || known.some(({ finding }) => finding.row === 'env');
  if (isSure ? settings.length > 0 : known.length >= 2) for (const { finding } of settings) emit(finding);
}

/** A command over several lines, each but the last with a backslash at its end: pasted, or printed by its script. */
export const commandBlock: BlockCode = {
  id: 'shell.command',
  anchors: ENV_ANCHORS,
  begin(match, emit) {
    const lines = [match.groups!['first']!.trim().replace(/^[$#%] /, '')];
    return {
      line(text) {
        lines.push(text.trim());
        return lines.at(-1)!.endsWith('\\') ? 'taken' : 'last';
      },
      end() {
        const command = lines.map((line) => line.replace(/\\$/, '')).join(' ');
        emitCommand(command.startsWith('--') ? `python train.py ${command}` : command, emit);
      },
    };
  },
};

/** Options of sbatch in a script that was printed into the log, as nemo-run does. */
export const slurmDirective: LineCode = {
  id: 'slurm.directive',
  read({ directive }, emit) {
    for (const { finding } of readShellSettings(directive!)) emit(finding);
  },
};

/** `NAME=value` alone on its line: `env`, `printenv`, `export -p`, or echoed by hand. */
export const envLine: LineCode = {
  id: 'shell.environment',
  anchors: ENV_ANCHORS,
  read({ how, name, value }, emit) {
    // A value that the shell had not yet expanded is not a setting of the run.
    if (value!.includes('$')) return;
    const text = value!.replace(/^(["'])([\s\S]*)\1$/, '$2');
    const origin = how === 'export ' ? 'script' : how?.startsWith('-') === true ? 'config file' : 'env dump';
    const finding = envFinding(name!, text, origin);
    if (finding !== null) emit(finding);
  },
};

/** Keys of the same level as the first one. */
const MANIFEST_KEY =
  /^\s{0,200}(?:apiVersion|kind|metadata|spec|status|services|name|value|image\w{0,20}|command|args|entrypoint|env\w{0,8}|env_vars|environment|runtime_?env|runtimeEnvYAML|working_?[dD]ir|pip|resources|volumes?\w{0,10}|ports|securityContext|restartPolicy|---):?(?:\s|$)/;

/** The description of a job, or a part of it. Other lines than those of such a text end it. */
export const manifest: BlockCode = {
  id: 'job.manifest',
  begin(match, emit) {
    const reader = new ManifestSettings((finding) => emit(finding));
    const first = match.input;
    const base = first.search(/\S/);
    reader.line(first, 0);
    const belongs = (text: string): boolean => {
      const indent = text.search(/\S/);
      if (indent < 0 || reader.continues(indent)) return true;
      if (indent > base || (indent === base && text[indent] === '-'))
        return /^\s{0,200}(?:- {0,8}|#|["']?[\w./-]{1,200}["']?:(?:\s|$))/.test(text);
      return indent === base && MANIFEST_KEY.test(text);
    };
    return {
      line(text) {
        if (!belongs(text)) return 'over';
        reader.line(text, 0);
        return 'taken';
      },
      end: () => reader.end(),
    };
  },
};
