import { withAnyWidth } from './formats/digit-blind.js';
import { LINE_LABELS, PREFIX_RULES, type PrefixRule, SRUN_LABEL } from './prefix-rules.js';

/** The prefix of a line. */
export interface LinePrefix {
  /** Equal for lines of one writer; empty where nothing names the writer. */
  readonly key: string;
  readonly rank: number | null;
  readonly rankOrigin: string | null;
  /** Rank on its node, of torchrun; no global rank follows from it. */
  readonly localRank: number | null;
  readonly host: string | null;
  readonly device: number | null;
  readonly pid: number | null;
  /** What the prefix calls that process; of NCCL's lines it is one of the training. */
  readonly process: string | null;
  readonly time: string | null;
  /** Where the bare text begins. */
  readonly end: number;
}

/** Groups of the rules, see {@link PREFIX_RULES}. */
interface PrefixGroups {
  readonly rank?: string;
  readonly task?: string;
  readonly local?: string;
  readonly host?: string;
  readonly device?: string;
  readonly pid?: string;
  readonly time?: string;
  readonly who?: string;
}

/** More layers than any launcher was seen to stack (srun, torchrun, rank, glog, python logging). */
const MOST_LAYERS = 10;

/** The rules that a first character leaves, by character code; beyond ASCII none applies. */
const RULES_BY_FIRST: readonly (readonly (typeof PREFIX_RULES)[number][])[] = Array.from({ length: 128 }, (_, code) =>
  PREFIX_RULES.filter(({ first }) => first.test(String.fromCharCode(code))),
);
const NONE: (typeof RULES_BY_FIRST)[number] = [];
const BRACKET = 91;
/** Half of the rules begin with a bracket: by the character behind it. */
const RULES_BY_SECOND: readonly (typeof RULES_BY_FIRST)[number][] = Array.from({ length: 128 }, (_, code) =>
  RULES_BY_FIRST[BRACKET]!.filter(({ second }) => second?.test(String.fromCharCode(code)) ?? true),
);

/** Nine lines in ten carry no prefix, or one: most rules need not be asked. */
function rulesAt(text: string, at: number): (typeof RULES_BY_FIRST)[number] {
  let index = at;
  while (text.charCodeAt(index) === 32 || text.charCodeAt(index) === 9) index += 1;
  const code = text.charCodeAt(index);
  const bySecond = code === BRACKET ? RULES_BY_SECOND[text.charCodeAt(index + 1)] : undefined;
  return bySecond ?? RULES_BY_FIRST[code] ?? NONE;
}

const LONGEST_PREFIX = 96;
const PREFIX_END = /[-|Z]$/;

const toNumber = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

/**
 * Strips the stacked prefixes of a line. A task number of srun is the global rank only where nothing else names the
 * process: under torchrun, srun starts one task per *node*.
 *
 * @param isWide whether numbers may have any number of digits
 */
export function stripPrefix(text: string, label: PrefixRule | null = null, isWide = false): LinePrefix {
  const prefix = prefixOf(text, label, isWide);
  if (prefix.end === text.length || text.length > LONGEST_PREFIX || !PREFIX_END.test(text)) return prefix;
  // A blank line of a logger, whose last space was trimmed.
  const spaced = prefixOf(`${text} `, label, isWide);
  return spaced.end > text.length ? { ...spaced, end: text.length } : prefix;
}

function prefixOf(text: string, label: PrefixRule | null, isWide: boolean): LinePrefix {
  let end = 0;
  let key = '';
  let rank: number | null = null;
  let rankOrigin: string | null = null;
  let task: number | null = null;
  let localRank: number | null = null;
  let host: string | null = null;
  let device: number | null = null;
  let pid: number | null = null;
  let process: string | null = null;
  let time: string | null = null;

  const apply = (rule: (typeof PREFIX_RULES)[number]): boolean => {
    const pattern = isWide ? withAnyWidth(rule.pattern) : rule.pattern;
    pattern.lastIndex = end;
    const match = pattern.exec(text);
    if (match === null || match[0] === '') return false;
    end = pattern.lastIndex;
    const groups: PrefixGroups = match.groups ?? {};
    if (rank === null && groups.rank !== undefined) {
      rank = Number(groups.rank);
      rankOrigin = `prefix:${rule.name}`;
    }
    task ??= toNumber(groups.task);
    localRank ??= toNumber(groups.local);
    host ??= groups.host ?? null;
    device ??= toNumber(groups.device);
    if (pid === null && groups.pid !== undefined) {
      pid = Number(groups.pid);
      process = groups.who ?? (rule.name === 'nccl' ? 'training process' : null);
    }
    time ??= groups.time ?? null;
    if (rule.identity) {
      const { rank: number = groups.task ?? '', who = '', local = '' } = groups;
      key += `${rule.name}=${number}${who}${local}@${groups.host ?? ''}:${groups.pid ?? ''};`;
    }
    return true;
  };

  if (label !== null) apply(label);
  for (let layer = 0; layer < MOST_LAYERS; layer += 1) {
    const before = end;
    // Leading white space is removed only after a prefix; rules that allow indentation declare it.
    while (end > 0 && (text[end] === ' ' || text[end] === '\t')) end += 1;
    if (!rulesAt(text, end).some(apply)) {
      end = before;
      break;
    }
  }
  if (rank === null && task !== null && localRank === null) {
    rank = task;
    rankOrigin = `prefix:${SRUN_LABEL.name}`;
  }
  return { key, rank, rankOrigin, localRank, host, device, pid, process, time, end };
}

/** Share of the written lines. */
const LEAST_LABELLED = 0.5;

/**
 * The label that most of these lines carry, the first such one of {@link LINE_LABELS}; null if none does. A writer
 * writes more than once, items of a list and error codes seldom do; `srun --label` alone is taken without, for a
 * thousand tasks may print a line each.
 */
export function findLineLabel(lines: readonly string[]): PrefixRule | null {
  const written = lines.filter((line) => line.trim() !== '');
  for (const label of LINE_LABELS) {
    let labelled = 0;
    const writers = new Set<string>();
    for (const line of written) {
      label.pattern.lastIndex = 0;
      const match = label.pattern.exec(line);
      if (match === null) continue;
      labelled += 1;
      writers.add(match[0]);
    }
    const enough = labelled > 0 && labelled >= written.length * LEAST_LABELLED;
    if (enough && (label === SRUN_LABEL || labelled >= 2 * writers.size)) return label;
  }
  return null;
}
