/** `mbforensics help TOPIC`: the pages of the documentation, which are in the package. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { maxOf } from '../model/lists.js';
import { pageText, pageTitle } from '../report/knowledge/page-text.js';
import { packageRoot } from '../store/load-queries.js';
import { didYouMean } from './nearest.js';
import { misuse } from './options.js';

/** Written by hand, and made by the build. */
const FOLDERS = ['docs', join('dist', 'docs')];

/** Pages by name; `lint-rules` is dist/docs/lint-rules.md. */
function pages(): ReadonlyMap<string, string> {
  const root = packageRoot();
  const named = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => [file.slice(0, -'.md'.length), join(root, folder, file)] as const),
  );
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The page of a topic; without one, all topics. `verbs` are named in the error of an unknown topic. */
export function helpTopic(topic: string | undefined, verbs: readonly string[]): string {
  const files = pages();
  if (topic === undefined) return topicList(files, new Set(verbs));
  const name = topic.replace(/^docs\//, '').replace(/\.md$/, '');
  const file = files.get(name);
  if (file !== undefined) return pageText(readFileSync(file, 'utf8'));
  const near = didYouMean(name, [...verbs, ...files.keys()]);
  throw misuse(`unknown topic ${JSON.stringify(topic)}${near}; \`mbforensics help\` lists all`);
}

/** What a verb is named like is a page with its ending: the verb has a help of its own. */
function topicList(files: ReadonlyMap<string, string>, verbs: ReadonlySet<string>): string {
  const width = maxOf([...files.keys()].map((name) => name.length)) + 5;
  const lines = [...files].map(([name, file]) => {
    const shown = verbs.has(name) ? `${name}.md` : name;
    return `  ${shown.padEnd(width)}${pageTitle(readFileSync(file, 'utf8'))}`;
  });
  return `mbforensics help TOPIC shows a page, mbforensics help VERB the options of a verb.\n\n${lines.join('\n')}\n`;
}
