/** Settings that changed inside the range of a bisection: findings of their own, and reasons to doubt a culprit. */
import { commitsBetween, commitsTouching, isAncestor } from '../../../git/commits.js';
import { listCommits } from '../../../git/list-commits.js';
import type { Repository } from '../../../git/repository.js';
import type { BisectSetting } from '../../../model/results/bisect.js';
import type { SettingChange } from '../../../model/results/compare.js';
import type { JudgementRecord } from './records.js';

type Judged = Pick<JudgementRecord, 'sha' | 'settings'>;

/** Changes that are looked up in the history; each takes some calls of git. */
const MOST_QUESTIONS = 500;

/** By the launched commits, in the order of the history. */
export async function changedSettings(
  repository: Repository,
  judgements: readonly JudgementRecord[],
): Promise<BisectSetting[]> {
  const launched = judgements.filter(({ runs, settings }) => runs.length > 0 && settings !== undefined);
  const changes = new Map(launched.flatMap(({ settings = [] }) => settings.map((one) => [one.key, one] as const)));
  if (changes.size === 0) return [];
  const places = new Map((await listCommits(repository)).map(({ sha }, place) => [sha, place]));
  const ordered = launched.toSorted((a, b) => (places.get(a.sha) ?? 0) - (places.get(b.sha) ?? 0));
  const settings: BisectSetting[] = [];
  let questionsLeft = MOST_QUESTIONS;
  for (const [key, change] of changes) {
    for (const [i, next] of ordered.entries()) {
      const last = ordered[i - 1];
      if (last === undefined) continue;
      const [from, to] = [settingOf(last, change), settingOf(next, change)];
      if (from === to || questionsLeft <= 0) continue;
      questionsLeft -= 1;
      if (!(await isAncestor(repository, last.sha, next.sha))) continue;
      settings.push({
        ...{ key, from, to, after: last.sha, before: next.sha },
        commit: await commitOf(repository, last.sha, next.sha, key),
        way: from === change.golden ? change.way : to === change.golden ? opposite(change.way) : 'unknown',
        is_contract: change.is_contract,
      });
    }
  }
  return settings.sort((a, b) => (places.get(a.before) ?? 0) - (places.get(b.before) ?? 0));
}

/** A record has what differs from the golden run. */
function settingOf({ settings = [] }: Judged, { key, golden }: SettingChange): string | null {
  const difference = settings.find((one) => one.key === key);
  return difference === undefined ? golden : difference.current;
}

const opposite = (way: SettingChange['way']) => (way === 'up' ? 'down' : way === 'down' ? 'up' : way);

/** The only commit in between, or the only one with the name of the setting in a line that it changes. */
async function commitOf(
  repository: Repository,
  from: string,
  to: string,
  key: string,
): Promise<BisectSetting['commit']> {
  const { commits } = await commitsBetween(repository, from, to, false);
  const [only, second] =
    commits.length === 1
      ? commits
      : await commitsTouching(repository, from, to, key.replaceAll(/[^A-Za-z0-9]+/g, '[-_.]'));
  return only === undefined || second !== undefined ? null : { sha: only.sha, subject: only.subject };
}

/** Settings by which a good commit may hide what is hunted. */
export const hidingSettings = ({ judgement, settings = [] }: JudgementRecord): readonly SettingChange[] =>
  judgement === 'good' ? settings.filter(({ way }) => way !== 'up') : [];
