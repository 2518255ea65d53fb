/**
 * Finds names in text: paths, URLs, hosts, users, addresses, ids, and the values of settings that are names. Texts have
 * one character a byte, so that places are bytes. All expressions are linear: every quantifier is bounded, or its
 * characters cannot begin what follows.
 */
import { keepsEnv } from '../knowledge/env-keys.js';
import { findSecrets } from '../knowledge/secrets.js';
import type { NameKind, Names } from './names.js';
import { BASE64, decodedText } from './rewriter.js';
import { lower, vocabulary } from './vocabulary.js';

/** Settings, variables and columns whose values are names; compared in lower case without signs. */
const VALUES: Readonly<Record<string, NameKind>> = Object.fromEntries(
  (
    [
      ['user', 'user username logname login userid submituser owner author uid mailuser email group groupid groupname'],
      ['user', 'account slurmjobaccount reservation wckey jobuser slurmjobuser sudouser loginuser'],
      [
        'host',
        'host hostname node nodename nodelist nodes masteraddr headnode batchhost slurmdnodename slurmjobnodelist',
      ],
      ['host', 'slurmnodelist slurmsubmithost allocnode rdzvendpoint masterport hostip nodeip podip machine rdzvhost'],
      ['name', 'partition slurmjobpartition cluster slurmclustername clustername jobname slurmjobname comment'],
      [
        'name',
        'wandbentity wandbproject wandbexpname wandbname wandbrunname wandbgroup wandbrungroup wandbtags entity',
      ],
      ['name', 'project projectname runname displayname expname experiment experimentname mlflowexperiment'],
      ['name', 'image containerimage container bucket namespace podname pod service serviceaccount registry'],
      ['name', 'branch gitbranch remote giturl gitremote repository repo remoteurl dataset datasetname datapath'],
      ['name', 'tokenizermodel tokenizername modelname modelpath modelnameorpath hfmodelid hfmodelpath model'],
      ['name', 'save load pretrainedcheckpoint checkpointdir outputdir logdir tensorboarddir savepath description'],
      ['id', 'serial serialnumber wandbrunid runid gpuserial boardid machineid jobuuid poduid containerid sweepid'],
      ['job', 'slurmjobid slurmjobid slurmarrayjobid jobid arrayjobid jobidraw stepid rdzvid'],
    ] as const
  ).flatMap(([kind, keys]) => keys.split(' ').map((key): [string, NameKind] => [key, kind])),
);
/** Some of the keys, so that other lines cost one search. */
const KEY =
  /(?:user|log_?name|login|owner|author|e?mail|group|account|reservation|wckey|host|node|addr|endpoint|machine|partition|cluster|job|comment|entity|project|run_?name|display_?name|exp(?:eriment)?_?name|experiment|image|container|bucket|namespace|pod|service|registry|branch|remote|git|repo|dataset|data_?path|tokenizer|model|save|load|checkpoint|dir|description|serial|run_?id|board|sweep|step_?id|rdzv)/i;
/** `key: value`, `key=value`, `"key": "value"`, `key ..... value`, `--key value`. */
const SETTING =
  /(["']?)([A-Za-z_][\w.-]{0,63})\1(?:\s{0,8}[:=]\s{0,8}|\s{1,4}\.{3,80}\s{1,4}|\s{1,8}(?=["'\w/]))(?:"([^"\n]{1,400})"|'([^'\n]{1,400})'|([^\s"',;{}()[\]]{1,400}))/g;

const PATH = /(?<![\w.~:/\\-])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]{1,2}[^\s/\\'"`()[\]{}<>|:;,=*?&$#!]{1,200}){1,40}/g;
/** A path that does not begin with a slash, known by the extension of its file. */
const RELATIVE =
  /(?<![\w./\\-])[\w.@+~-]{1,100}(?:[/\\]{1,2}[\w.@+~-]{1,100}){1,30}\.(?:py|ya?ml|json|jsonl|sh|sbatch|log|out|err|txt|pickle|pkl|pt|pth|bin|idx|nemo|ckpt|safetensors|parquet|toml|cfg|csv|cpp|cc|cu|h|so|gz|sqlite)\b/g;
const HOME = /[/\\](?:home|homes|Users|users|user|u)[/\\]{1,2}([^\s/\\'"`()[\]{}<>|:;,=]{1,64})/g;
const URL_ =
  /\b([a-z][a-z0-9+]{1,15}):\/\/(?:([^\s/@'"<>]{1,200})@)?([\w.-]{1,253})(?::\d{1,5})?((?:\/[^\s'"<>?#]{0,1000})?)/g;
const BUCKETS = /^(?:s3|s3a|gs|gcs|az|abfss?|wasbs?|swift|hdfs|oss|cos|r2|weka|file)$/;
const AT = /(?<![\w.%+-])([A-Za-z][\w.+-]{0,63})@([A-Za-z][\w-]{0,62}(?:\.[\w-]{1,62}){0,6})/g;
/** A domain of at least three labels, or two with a common ending. */
const DOMAIN =
  /(?<![\w.@/-])((?:[A-Za-z0-9][\w-]{0,62}\.){1,8}(?:com|org|net|edu|gov|io|ai|dev|cloud|local|internal|intra|lan|corp|cluster|hpc|de|fr|uk|jp|cn|kr|ch|it|es|nl|se|in|ca|au|tech|xyz))(?![\w-])(?!\()/gi;
const IPV4 = /(?<![\w.=-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])/g;
const IPV6 = /(?<![\w:.])(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){1,7}(?![\w:.])/gi;
const MAC = /(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])/gi;
const UUID = /(?<![0-9a-f])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-f-])/gi;
/** Commits, keys, digests. */
const HEX = /(?<![\w])(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{32})(?![\w])/g;
/** `host:port`, and NCCL's `host:pid:thread`. */
const PORT = /(?<![\w./:-])([A-Za-z][A-Za-z0-9.-]{1,100}):(\d{2,7})(?::\d{1,7}\b)?(?![\w])/g;
const SOURCE_FILE = /\.(?:py|cpp|cc|c|h|hpp|cu|cuh|go|rs|js|ts|java|pyx|yaml|yml|json|sh|log|out|txt)$/i;
/** A list of nodes as Slurm writes it: `h100-dgx-[001-016,020]`. */
const NODES = /(?<![\w./-])([A-Za-z][A-Za-z0-9-]{1,60})\[\d{1,6}(?:[-,]\d{1,6}){0,200}\]/g;
/** `File "train.py", line 3, in step`, and the line of source below it. */
const TRACEBACK = /File "([^"\n]{1,1000})", line \d{1,7}(?:, in ([\w<>.]{1,200}))?/g;
/** `_target_: acme.models.Router`, `<class 'acme.Router'>`, `acme.errors.RouterError: …`. */
const DOTTED =
  /(?:_target_["']?[:=]\s{0,4}["']?|<(?:class|function|enum) '?|^|\s)((?:[A-Za-z_]\w{1,60}\.){1,12}[A-Za-z_]\w{1,60})(?=["'>:\s]|$)/g;
const USER_ID = /\b(?:UserId|GroupId|User|uid|gid)=(?:\d{1,10}\()?([A-Za-z][\w.-]{0,63})/g;
const FLAG = /(?:^|\s)-([AJpuwM])[\s=]?([A-Za-z][\w.,[\]-]{1,100})/g;
/** Runs of Weights & Biases: in URLs, and in names of directories. */
const RUN_ID = /(?:\/runs\/|run-\d{8}_\d{6}-|run-)([a-z0-9]{8})(?![A-Za-z0-9])/g;
/** A line of an environment. */
const VARIABLE = /^\s{0,16}(?:export\s|declare -x\s)?([A-Z][A-Z0-9_]{2,80})=(.{2,4000})/;
const JOB = /(?:job[ _-]?id|jobid|slurm[-_]|array[ _-]?job|StepId|JOB|job)[\s=:"'#-]{0,4}(\d{4,12})(?!\d)/gi;

const groupsOf = (pattern: RegExp, text: string): IterableIterator<RegExpMatchArray> => text.matchAll(pattern);

export class NameCollector {
  readonly #names: Names;
  /** The line before was `File "…"` of private code: the next one is its source. */
  #isSource = false;

  constructor(names: Names) {
    this.#names = names;
  }

  /** One line, or one text of a structured file. */
  take(text: string): void {
    const names = this.#names;
    for (const { start, end } of findSecrets(text)) {
      const secret = text.slice(start, end);
      // Short ones could be any word; they are hidden where they are.
      const isMixed = /\d/.test(secret) || (/[a-z]/.test(secret) && /[A-Z]/.test(secret));
      if (secret.length >= 8 && isMixed) names.whole(secret, 'secret');
    }
    if (this.#isSource) {
      this.#isSource = false;
      if (!text.includes('File "')) names.name(text, 'code');
    }
    if (text.includes('@')) this.#at(text);
    if (text.includes('/') || text.includes('\\')) this.#paths(text);
    if (text.includes('.')) this.#dots(text);
    if (text.includes(':') || text.includes('-')) this.#ids(text);
    if (KEY.test(text)) this.#settings(text);
    const variable = VARIABLE.exec(text);
    if (variable !== null && !keepsEnv(variable[1]!)) names.name(variable[2]!, 'name');
    if (text.includes('run'))
      for (const [, id] of groupsOf(RUN_ID, text)) if (/\d/.test(id!) && /[a-z]/.test(id!)) names.whole(id!, 'id');
    for (const [coded] of groupsOf(BASE64, text)) {
      const decoded = decodedText(coded);
      if (decoded !== undefined) this.take(decoded);
    }
    for (const match of groupsOf(HEX, text)) if (/\d/.test(match[0])) names.whole(match[0], 'id');
  }

  #at(text: string): void {
    for (const [, user, host] of groupsOf(AT, text)) {
      this.#names.user(user!);
      this.host(host!);
    }
  }

  #paths(text: string): void {
    for (const [, scheme, credentials, host, path] of groupsOf(URL_, text)) {
      if (credentials !== undefined) this.#names.user(credentials.split(':')[0]!);
      if (BUCKETS.test(scheme!)) this.#names.name(host!, 'name');
      else this.host(host!);
      this.segments(path!, 'path');
    }
    for (const [, user] of groupsOf(HOME, text)) this.#names.user(user!);
    for (const [path] of groupsOf(PATH, text)) this.segments(path, 'path');
    for (const [path] of groupsOf(RELATIVE, text)) this.segments(path, 'path');
    for (const [, file, name] of groupsOf(TRACEBACK, text)) {
      const isPrivate = this.frame(file!, name ?? '');
      this.#isSource = isPrivate;
    }
  }

  #dots(text: string): void {
    for (const [, domain] of groupsOf(DOMAIN, text)) if (!SOURCE_FILE.test(domain!)) this.#names.domain(domain!);
    for (const match of groupsOf(IPV4, text)) {
      const parts = match[0].split('.').map(Number);
      const isAddress = parts.every((part) => part < 256) && parts[0] !== 0 && parts[0] !== 127 && parts[0] !== 255;
      // Versions of libraries have four numbers too: `cublas 12.8.3.14`.
      const before = text.slice(Math.max(0, match.index! - 24), match.index);
      if (isAddress && !/version|==|cu\d\d|driver|cublas|cudnn|nccl|nsys|cuda|[vV]$/i.test(before))
        this.#names.whole(match[0], 'address');
    }
    for (const [, dotted] of groupsOf(DOTTED, text)) this.dotted(dotted!);
  }

  #ids(text: string): void {
    const names = this.#names;
    for (const [id] of groupsOf(UUID, text)) names.whole(id, 'id');
    for (const [id] of groupsOf(MAC, text)) names.whole(id, 'address');
    for (const [address] of groupsOf(IPV6, text))
      if (/[a-f]/i.test(address) && (address.match(/:/g) ?? []).length >= 4) names.whole(address, 'address');
    for (const [, host] of groupsOf(PORT, text))
      if (!SOURCE_FILE.test(host!) && (host!.includes('.') || (/\d/.test(host!) && host!.includes('-'))))
        this.host(host!);
    for (const [, stem] of groupsOf(NODES, text)) {
      if (/-/.test(stem!)) names.whole(stem!, 'host');
      else names.name(stem!, 'host');
    }
    for (const [, user] of groupsOf(USER_ID, text)) names.user(user!);
    if (text.includes('srun') || text.includes('batch'))
      for (const [, flag, value] of groupsOf(FLAG, text)) {
        if (flag === 'u') names.user(value!);
        else if (flag === 'w') this.host(value!.replace(/\[.*/, ''));
        else names.name(value!, 'name');
      }
  }

  #settings(text: string): void {
    for (const [, , key, ...values] of groupsOf(SETTING, text)) {
      const value = values.find((each) => each !== undefined);
      if (value !== undefined) this.setting(key!, value);
    }
    for (const [, number] of groupsOf(JOB, text)) this.#names.whole(number!, 'job');
  }

  /** The value of a setting, a variable or a column. */
  setting(key: string, value: string): void {
    const last = key.slice(key.lastIndexOf('.') + 1);
    const kind = VALUES[lower(last).replace(/[^a-z]/g, '')];
    if (kind === undefined || /^(?:null|None|True|False|true|false|auto|-?\d[\d.e+-]*)$/.test(value)) {
      if (kind === 'job' && /^\d{4,12}$/.test(value)) this.#names.whole(value, 'job');
      return;
    }
    if (kind === 'user') {
      for (const user of value.split(/[\s,;()@]+/)) if (!/^\d*$/.test(user)) this.#names.user(user);
    } else if (kind === 'host') {
      // Lists of nodes are found by their form.
      for (const host of value.replace(/\[[\d,-]{0,1000}\]/g, '').split(/[\s,;]{1,8}/))
        this.host(host.replace(/:\d+$/, ''));
    } else if (kind === 'id') {
      if (/^[\w-]{4,80}$/.test(value)) this.#names.whole(value, 'id');
    } else if (kind !== 'job') this.segments(value, kind);
  }

  host(text: string): void {
    if (/^[\w.-]{2,253}$/.test(text) && !/^\d+(?:\.\d+)*$/.test(text)) this.#names.host(text);
  }

  /** A path; in installed public packages, and in Python's own library, all names are public. */
  segments(path: string, kind: NameKind): void {
    const names = this.#names;
    const { packages, domains } = vocabulary();
    let before = '';
    for (const segment of path.split(/[/\\]+/)) {
      if (packages.has(segment) && /^(?:site|dist)-packages$/.test(before)) return;
      if (/^python\d/.test(segment) && before === 'lib' && !/(?:site|dist)-packages/.test(path)) return;
      if (!domains.includes(segment)) names.name(segment, kind);
      before = segment;
    }
  }

  /** `acme.models.Router`: names of modules and classes, unless the first one is a public package. */
  dotted(text: string): void {
    const parts = text.split('.');
    const { packages, namespaces, words } = vocabulary();
    const first = parts[0]!;
    if (packages.has(first) || namespaces.has(first) || /^\d/.test(first)) return;
    // Settings are dotted too: `model.tensor_model_parallel_size`.
    if (words.has(lower(first)) && parts.length === 2) return;
    for (const part of parts) this.#names.name(part, 'code');
  }

  /** A frame of a stack. True if its code is private. */
  frame(file: string, name: string): boolean {
    if (file === '' || /\.(?:cpp|cc|c|h|hpp|cu|cuh|so)(?:$|\.)/.test(file) || file === '??') return this.#native(name);
    if (isPublicFile(file)) return false;
    this.segments(file, 'path');
    this.#names.name(name, 'code');
    return true;
  }

  #native(name: string): boolean {
    const spaces = [...name.matchAll(/([A-Za-z_]\w{0,100})::/g)].map(([, space]) => space!);
    const { namespaces } = vocabulary();
    if (spaces.length === 0 || spaces.some((space) => namespaces.has(space))) return false;
    return this.#names.name(name, 'code');
  }
}

/** Installed public packages, and Python's own library. In a checkout, unknown words may be private. */
export function isPublicFile(file: string): boolean {
  const parts = file.split(/[/\\]+/);
  const { packages } = vocabulary();
  const at = parts.findLastIndex((part) => part === 'site-packages' || part === 'dist-packages');
  if (at >= 0) return packages.has((parts[at + 1] ?? '').replace(/\.py$/, ''));
  return /(?:^|[/\\])lib(?:64)?[/\\]python\d|^<(?:frozen|string|eval_with_key)/.test(file);
}
