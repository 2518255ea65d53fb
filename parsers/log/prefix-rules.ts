/**
 * What launchers and loggers put before a line, as an ordered list. Rules are tried in order, again and again, until
 * none applies, because prefixes stack: `[default0]:[rank0]:[W530 21:08:49.89 x.cpp:1] …`. Every repetition is bounded.
 */
export interface PrefixRule {
  /** Reported as `prefix:<name>` where it gave the rank. */
  readonly name: string;
  /** The first non-blank character; the rule is not tried on other lines. */
  readonly first: RegExp;
  /** Of rules that begin with a bracket: the character behind it. */
  readonly second?: RegExp;
  /**
   * Sticky. Groups: `rank` (global), `task` (of srun), `local` (rank on its node), `host`, `device`, `pid`, `time`,
   * `who`.
   */
  readonly pattern: RegExp;
  /** Lines with the same values of these groups come from one writer; loggers' times and levels do not count. */
  readonly identity: boolean;
}

const ISO = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?`;
const LEVEL = '(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)';

/** `srun --label`. Applied only to files that carry it on most lines: `3: text` alone may be an enumeration. */
export const SRUN_LABEL: PrefixRule = {
  name: 'srun',
  first: /[ 0-9]/,
  // A clock is not a task: `10:11:12`.
  pattern: /[ ]{0,6}(?<task>\d{1,6}): ?(?!\d\d:\d\d(?![:\d]))/y,
  identity: true,
};

/** Labels that are too weak alone; they count only if most lines of the file carry one. */
export const LINE_LABELS: readonly PrefixRule[] = [
  SRUN_LABEL,
  // mpiexec of MPICH and Intel MPI with -prepend-rank, PALS with --label
  { name: 'mpiexec', first: /\[/, pattern: /\[(?<rank>\d{1,6})\]:? ?/y, identity: true },
  {
    name: 'mpiexec',
    first: /[a-z]/,
    pattern: /(?<host>[a-z][\w-]{0,40}\d[\w.-]{0,60}) (?<rank>\d{1,6}): ?/y,
    identity: true,
  },
  { name: 'rank', first: /[rR]/, pattern: /[rR]ank[ _-]?(?<rank>\d{1,6}): ?/y, identity: true },
  // pdsh and clush, hence DeepSpeed's launcher: nodes have numbers in their names, or are one.
  {
    name: 'pdsh',
    first: /[A-Za-z0-9]/,
    pattern: /(?<host>(?:[A-Za-z][\w-]{0,60}?\d|\d{1,3}\.\d{1,3}\.)[\w.-]{0,100}|localhost): /y,
    identity: true,
  },
];

export const PREFIX_RULES: readonly PrefixRule[] = [
  // Colours whose escape character was lost where the text was copied, or is written out (CloudWatch).
  {
    name: 'colour',
    first: /[[#]/,
    pattern: /(?:#033)?\[\d{1,3}(?:;\d{1,3}){0,4}m/y,
    identity: false,
  },
  // Stream labels of a launcher
  {
    name: 'stream',
    first: /[s[]/,
    pattern: /(?:std(?:out|err)(?:: | [FP] )|\[std(?:out|err)\][ :]{1,2})/y,
    identity: false,
  },
  { name: 'quote', first: /[>#/]/, pattern: /[ \t]*(?:>|#|\/\/)[ \t]/y, identity: false },
  // torch ≥ 2.3, uncaught tracebacks and C++ warnings.
  { name: '[rankN]:', first: /\[/, second: /r/, pattern: /\s*\[rank(?<rank>\d{1,6})\]:[ ]?/y, identity: true },
  // mpirun --tag-output: [job,rank]<stream>, [name@job,rank]<stream> since Open MPI 5; [rank]<stream> of horovodrun
  {
    name: 'mpirun',
    first: /\[/,
    second: /\w/,
    pattern: /\s*\[(?:(?:[\w.-]{1,80}@)?\d{1,6},)?(?<rank>\d{1,6})\]<std(?:out|err|diag)>:?[ ]?/y,
    identity: true,
  },
  {
    name: 'sagemaker',
    first: /\[/,
    second: /\d/,
    pattern: /\s*\[\d{1,6},mpirank:(?<rank>\d{1,6}),(?<host>[\w.-]{1,80})\]<std(?:out|err)>:?[ ]?/y,
    identity: true,
  },
  // mpirun --timestamp-output, before or after the tag
  {
    name: 'mpirun time',
    first: /[A-Z]/,
    pattern: /(?<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})(?=\[\d|<std)(?:<std(?:out|err)>:)?/y,
    identity: false,
  },
  {
    name: 'primus',
    first: /\[/,
    second: /\d/,
    pattern: new RegExp(
      String.raw`\[(?<time>\d{8} \d\d:\d\d:\d\d)\]\[rank-(?<rank>\d{1,6})\/\d{1,6}\]\[${LEVEL}[ ]{0,4}\] ?(?:\[[\w./-]{1,80}:\d{1,6}\] : ?)?`,
      'y',
    ),
    identity: true,
  },
  // Determined: container and rank
  { name: 'determined', first: /[0-9a-f]/, pattern: /[\da-f]{8} (?=\[rank=\d)/y, identity: true },
  {
    name: 'determined',
    first: /\[/,
    second: /r/,
    pattern: /\[rank=(?<rank>\d{1,6})\](?:\[[\w=.-]{1,80}\]){0,3}[ ]?(?:\|\| )?/y,
    identity: true,
  },
  // torchrun --tee with a template of its own: [<node>:<local rank>]: ; [<role><local rank>:<rank>]:
  {
    name: 'torchrun',
    first: /\[/,
    second: /[A-Za-z_]/,
    pattern: /\s*\[(?<who>default|trainer|worker)(?<local>\d{1,4}):(?<rank>\d{1,6})\]:[ ]?/y,
    identity: true,
  },
  {
    name: 'torchrun',
    first: /\[/,
    second: /[A-Za-z_]/,
    pattern: /\s*\[(?!cuda:|gpu:|hip:|xpu:|rank:)(?<host>[A-Za-z][\w.-]{0,80}):(?<local>\d{1,3})\]:[ ]?/iy,
    identity: true,
  },
  // torchrun --tee: [<role><local rank>]:
  {
    name: 'torchrun',
    first: /\[/,
    second: /[A-Za-z_]/,
    pattern: /\s*\[(?<who>[A-Za-z_][A-Za-z_-]{0,30})(?<local>\d{1,4})\]:[ ]?/y,
    identity: true,
  },
  // torchx, nemo-run: <role>/<replica>
  { name: 'torchx', first: /[a-z]/, pattern: /\s*(?<who>[a-z][\w.-]{1,60}\/\d{1,5}) (?=[^|])/y, identity: true },
  {
    name: 'kubectl',
    first: /\[/,
    second: /p/,
    pattern: /\[pod\/(?<host>[\w.-]{1,100})\/(?<who>[\w.-]{1,64})\] ?/y,
    identity: true,
  },
  {
    name: 'compose',
    first: /[a-z]/,
    pattern: /(?<who>[a-z][\w.-]{0,60}-\d{1,3}(?:-[a-z0-9]{4,10})?)[ ]{0,20}\| /y,
    identity: true,
  },
  {
    name: 'ray',
    first: /\(/,
    pattern:
      /\s*\((?<who>[\w.:<>-]{1,60}(?: [\w.=]{1,40})?)(?:\[rank=(?<rank>\d{1,6})\])? pid=(?<pid>\d{1,10})(?:, ip=(?<host>[\da-f.:]{1,45}))?\)[ ]?/y,
    identity: true,
  },
  // A worker without a name yet, and Ray's own processes.
  {
    name: 'ray',
    first: /\(/,
    pattern:
      /\s*\((?:(?<who>raylet|gcs_server|autoscaler)(?: \+[\dhms]{2,16})?|pid=(?<pid>\d{1,10}))(?:, ip=(?<host>[\da-f.:]{1,45}))?\)[ ]?/y,
    identity: true,
  },
  {
    name: 'vllm',
    first: /\(/,
    pattern: /\s*\((?<who>(?:EngineCore|Worker|APIServer|ApiServer|VllmWorker)\w{0,40})\)[ ]/y,
    identity: true,
  },
  {
    name: 'nemo',
    first: /\[/,
    second: /N/,
    pattern: /\[NeMo [IWED] (?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[^\]\n]{0,120}\][ ]?/y,
    identity: false,
  },
  {
    name: 'glog',
    first: /[[WEIF]/,
    pattern: /\[?[WEIF](?<time>\d{3,4} \d\d:\d\d:\d\d\.\d{1,9})[^\]\n]{0,120}\] /y,
    identity: false,
  },
  {
    name: 'nccl',
    first: /[A-Za-z0-9]/,
    pattern: /(?<host>[A-Za-z0-9][\w.-]{0,63}):(?<pid>\d{1,9}):\d{1,9} \[(?<device>\d{1,3})\] /y,
    identity: true,
  },
  { name: 'dmesg', first: /\[/, second: /[ \d]/, pattern: /\[[ ]{0,6}(?<time>\d{1,9}\.\d{6})\] /y, identity: false },
  {
    name: 'dmesg -T',
    first: /\[/,
    second: /[A-Z]/,
    pattern: /\[(?<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?)\] /y,
    identity: false,
  },
  {
    name: 'syslog',
    first: /[A-Z]/,
    pattern: /(?<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?<host>[\w.-]{1,63}) [\w.-]{1,40}(?:\[\d{1,9}\])?: /y,
    identity: false,
  },
  {
    name: 'named time',
    first: /\[/,
    pattern: new RegExp(String.raw`\[[\w.-]{1,40}\] (?=${ISO})`, 'y'),
    identity: false,
  },
  // SGLang: the ranks inside one server, none of them global.
  {
    name: 'sglang',
    first: /\[/,
    second: /\d/,
    pattern: new RegExp(
      String.raw`\[(?<time>(?:${ISO}|\d\d:\d\d:\d\d))(?<who>(?: (?:ATTN_CP|MOE_DP|[DPTEC]P)\d{1,4}){1,6})\][ ]?`,
      'y',
    ),
    identity: true,
  },
  {
    name: 'bracketed time',
    first: /\[/,
    second: /\d/,
    pattern: new RegExp(String.raw`[ ]?\[(?<time>${ISO})[^\]\n]{0,100}\][ :]{0,2}`, 'y'),
    identity: false,
  },
  {
    name: 'time',
    first: /[0-9]/,
    // Not more than a separator: blanks behind it may be the text's own.
    pattern: new RegExp(String.raw`(?<time>${ISO})(?: [-|:] |[,:|-] ?|[ \t])`, 'y'),
    identity: false,
  },
  {
    name: 'time with slashes',
    first: /[0-9]/,
    pattern: /(?<time>(?:\d{4}\/\d\d\/\d\d|\d\d\/\d\d\/\d{4}) \d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: - | )/y,
    identity: false,
  },
  // Kaggle's run log: seconds, line number, text.
  { name: 'kaggle', first: /[0-9]/, pattern: /\d{1,9}\.\ds\t\d{1,9}\t/y, identity: false },
  { name: 'clock', first: /[0-9]/, pattern: /(?<time>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: \| |[ \t])/y, identity: false },
  {
    name: 'bracketed clock',
    first: /\[/,
    second: /\d/,
    pattern: /\[(?<time>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\][ ]?/y,
    identity: false,
  },
  {
    name: 'level and time',
    first: /[DIWECF]/,
    pattern: new RegExp(
      String.raw`${LEVEL} (?<time>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) (?:\[[^\]\n]{1,80}\]|[\w./]{1,60}:\d{1,5}\])[ ]?`,
      'y',
    ),
    identity: false,
  },
  // loguru, NeMo Automodel: INFO     | module:function:line - text
  {
    name: 'level and name',
    first: /[DIWECF]/,
    pattern: new RegExp(String.raw`${LEVEL}[ ]{1,6}\| [\w.:<>-]{1,100} (?:-|\|) `, 'y'),
    identity: false,
  },
  // transformers: [INFO|file.py:line] time >> text
  {
    name: 'transformers',
    first: /\[/,
    second: /[DIWECF]/,
    pattern: new RegExp(
      String.raw`\[${LEVEL}\|[\w./-]{1,80}:\d{1,6}\](?: (?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{1,6})?))? >>[ ]?`,
      'y',
    ),
    identity: false,
  },
  // nanotron: [INFO|category|DP=0|PP=0|TP=0|node]: text; axes of one rank only are left out, so that no global rank
  // follows.
  {
    name: 'nanotron',
    first: /\[/,
    second: /[DIWECF]/,
    pattern: new RegExp(
      String.raw`\[${LEVEL}(?:\|(?![A-Z]{2}=)[\w -]{1,40})?(?<who>(?:\|[A-Z]{2}=\d{1,6}){1,6})(?:\|(?<host>[\w.-]{1,80}))?\]: ?`,
      'y',
    ),
    identity: true,
  },
  // nanotron prints no year.
  {
    name: 'short date',
    first: /[01]/,
    pattern: /(?<time>\d\d\/\d\d \d\d:\d\d:\d\d) (?=\[[A-Z]{4,8}[|\]])/y,
    identity: false,
  },
  {
    name: 'logging',
    first: /[DIWECF]/,
    pattern: new RegExp(String.raw`${LEVEL}:[\w.-]{1,100}:`, 'y'),
    identity: false,
  },
  {
    name: 'logger',
    first: /[\w.]/,
    pattern: new RegExp(String.raw`[\w.]{1,60} - (?=${LEVEL} )`, 'y'),
    identity: false,
  },
  {
    name: 'level',
    first: /[[DIWECF]/,
    pattern: new RegExp(
      String.raw`(?:\[(?:${LEVEL}|[DIWEC](?=\]\[))\]|${LEVEL}(?= - | \| )|(?:INFO|DEBUG)(?=:))(?: - | \| |[ :]{1,2}|(?=\[))`,
      'y',
    ),
    identity: false,
  },
  {
    name: 'place',
    first: /\[/,
    pattern:
      /\[(?:[\w./-]{1,60}\.(?:py|cpp|cc|cu|h):\d{1,6}|(?!cuda:|gpu:|rank:)[a-z][\w./-]{1,60}:\d{2,6})(?::[\w<>.]{1,60})?\](?: - |[ :]{0,2})/y,
    identity: false,
  },
];
