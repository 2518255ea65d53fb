import { PREFIX_RULES, SRUN_LABEL } from './prefix-rules.js';

/** What stood before the text of a line. */
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

/** Nine lines in ten carry no prefix, or one: most rules need not be asked. */
function rulesAt(text: string, at: number): (typeof RULES_BY_FIRST)[number] {
  let index = at;
  while (text.charCodeAt(index) === 32 || text.charCodeAt(index) === 9) index += 1;
  return RULES_BY_FIRST[text.charCodeAt(index)] ?? NONE;
}

const toNumber = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

/**
 * Strips the stacked prefixes of a line. A task number of srun is the global rank only where nothing else names the
 * process: under torchrun, srun starts one task per *node*.
 */
export function stripPrefix(text: string, srunLabelled = false): LinePrefix {
  let end = 0;
  let key = '';
  let rank: number | null = null;
  let rankOrigin: string | null = null;
  let task: number | null = null;
  let localRank: number | null = null;
  let host: string | null = null;
  let device: number | null = null;
  let pid: number | null = null;
  let time: string | null = null;

  const apply = (rule: (typeof PREFIX_RULES)[number]): boolean => {
    rule.pattern.lastIndex = end;
    const match = rule.pattern.exec(text);
    if (match === null || match[0] === '') return false;
    end = rule.pattern.lastIndex;
    const groups: PrefixGroups = match.groups ?? {};
    if (rank === null && groups.rank !== undefined) {
      rank = Number(groups.rank);
      rankOrigin = `prefix:${rule.name}`;
    }
    task ??= toNumber(groups.task);
    localRank ??= toNumber(groups.local);
    host ??= groups.host ?? null;
    device ??= toNumber(groups.device);
    pid ??= toNumber(groups.pid);
    time ??= groups.time ?? null;
    if (rule.identity) {
      const { rank: number = groups.task ?? '', who = '', local = '' } = groups;
      key += `${rule.name}=${number}${who}${local}@${groups.host ?? ''}:${groups.pid ?? ''};`;
    }
    return true;
  };

  if (srunLabelled) apply(SRUN_LABEL);
  for (let layer = 0; layer < MOST_LAYERS; layer += 1) {
    const before = end;
    // Only a prefix makes leading white space disappear from what follows it; the rules that may be indented say so.
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
  return { key, rank, rankOrigin, localRank, host, device, pid, time, end };
}

/** Whether most of these lines carry an `srun --label`. */
export function isSrunLabelled(lines: readonly string[]): boolean {
  let labelled = 0;
  let written = 0;
  for (const line of lines) {
    if (line.trim() === '') continue;
    written += 1;
    SRUN_LABEL.pattern.lastIndex = 0;
    if (SRUN_LABEL.pattern.test(line)) labelled += 1;
  }
  return written > 0 && labelled * 2 >= written;
}
