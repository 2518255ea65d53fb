import { loadData } from '../../src/knowledge/load-data.js';

/** What launchers and loggers put before a line: `src/knowledge/log-prefixes.yaml` describes the fields. */
export interface PrefixRule {
  readonly name: string;
  readonly first: RegExp;
  readonly second: RegExp | undefined;
  /** Sticky. */
  readonly pattern: RegExp;
  readonly identity: boolean;
}

interface StoredRule {
  readonly name: string;
  readonly first: string;
  readonly second?: string;
  readonly pattern: string;
  readonly flags?: string;
  readonly writer?: true;
}
const stored = loadData('log-prefixes') as Readonly<
  Record<'labels' | 'rules', readonly StoredRule[]> & { parts: Readonly<Record<string, string>> }
>;

const ruleOf = ({ name, first, second, pattern, flags = '', writer }: StoredRule): PrefixRule => ({
  name,
  first: new RegExp(first),
  second: second === undefined ? undefined : new RegExp(second),
  pattern: new RegExp(
    pattern.replaceAll(/%\{(\w+)\}/g, (_, part: string) => stored.parts[part]!),
    `y${flags}`,
  ),
  identity: writer === true,
});

/** Labels that are too weak alone; they count only if most lines of the file carry one. */
export const LINE_LABELS: readonly PrefixRule[] = stored.labels.map(ruleOf);
/** Applied only to files that carry it on most lines. */
export const SRUN_LABEL: PrefixRule = LINE_LABELS[0]!;
export const PREFIX_RULES: readonly PrefixRule[] = stored.rules.map(ruleOf);
