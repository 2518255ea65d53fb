// New commits have a subject of at most 72 characters, and a body that gives the reason; see CONTRIBUTING.md.
import { spawnSync } from 'node:child_process';

/** The last commit that was written before this rule. */
const BEFORE = '7213b8bc';
const MOST_CHARACTERS = 72;

const { status, stdout } = spawnSync('git', ['log', '--no-merges', '--format=%h%x00%s%x00%b%x01', `${BEFORE}..HEAD`], {
  encoding: 'utf8',
});
if (status !== 0) {
  console.log(`The texts of commits were not checked: this checkout has no commit ${BEFORE}.`);
  process.exit(0);
}
const wrong = stdout
  .split('\x01')
  .map((commit) => commit.trim().split('\0'))
  .filter(([hash]) => hash !== '')
  .flatMap(([hash, subject, body]) => [
    ...(subject.length > MOST_CHARACTERS ? [`${hash} has a subject of ${subject.length} characters: ${subject}`] : []),
    ...(body.trim() === '' ? [`${hash} has no body that gives the reason: ${subject}`] : []),
  ]);
for (const line of wrong) console.log(line);
process.exit(wrong.length > 0 ? 1 : 0);
