// The end of `.ci/run`: seconds of test files, what was not tested and why, the failures, and the counts as last line.
// Arguments: the folder of the reports, NAME=STATUS of each step, and --record.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [reports, ...args] = process.argv.slice(2);
const steps = args.filter((arg) => arg.includes('=')).map((arg) => arg.split('='));
const RECORD = join(import.meta.dirname, 'test-seconds.tsv');
/** Steps that run tests, and the names of their reports. */
const SUITES = { 'npm-test': 'test', ci: 'ci' };
const MOST_FAILURES = 100;
const MOST_SLOW = 10;
/** A file that takes this many times its recorded seconds is listed, if it takes more than {@link LEAST_SECONDS}. */
const GROWTH = 2;
const LEAST_SECONDS = 5;

const firstLine = (text) =>
  stripVTControlCharacters(text || 'no message')
    .trim()
    .split('\n')[0];
const recorded = new Map(
  readFileSync(RECORD, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([file, seconds]) => [file, Number(seconds)]),
);

let passed = 0;
let nightly = 0;
let ofNightly = 0;
const failures = [];
const files = [];
const skipped = new Map();
for (const [name, status] of steps) {
  const before = failures.length;
  const report = join(reports, `${SUITES[name]}.json`);
  if (existsSync(report)) {
    for (const result of JSON.parse(readFileSync(report, 'utf8')).testResults) {
      const file = relative('', result.name);
      const isNightly = file.endsWith('.nightly.test.ts');
      const ofFile = failures.length;
      if (!isNightly) files.push({ file, seconds: (result.endTime - result.startTime) / 1000 });
      for (const { status, title, fullName, failureMessages } of result.assertionResults) {
        if (isNightly) ofNightly += 1;
        if (status === 'passed') {
          passed += 1;
          if (isNightly) nightly += 1;
        } else if (status === 'failed') failures.push(`FAILED ${file} > ${fullName}: ${firstLine(failureMessages[0])}`);
        else if (!isNightly) {
          const why = /^needs .*/.exec(title)?.[0] ?? 'skipped by the test itself';
          skipped.set(why, (skipped.get(why) ?? 0) + 1);
        }
      }
      // No test fails of a file that cannot be loaded or prepared.
      if (result.status === 'failed' && failures.length === ofFile) {
        failures.push(`FAILED ${file}: ${firstLine(result.message)}`);
      }
    }
  }
  if (status !== '0' && failures.length === before) failures.push(`FAILED ${name}: exit status ${status}`);
  else if (SUITES[name] !== undefined && !existsSync(report)) failures.push(`FAILED ${name}: it left no report`);
  else if (SUITES[name] === undefined && status === '0') passed += 1;
}

files.sort((a, b) => b.seconds - a.seconds);
const known = (file) => (recorded.has(file) ? `${recorded.get(file)} s` : 'not recorded');
console.log('Slowest test files, and in the last recorded run:');
for (const { file, seconds } of files.slice(0, MOST_SLOW)) {
  console.log(`${seconds.toFixed(0).padStart(5)} s ${file} (${known(file)})`);
}
const grown = files.filter(
  ({ file, seconds }) => seconds > LEAST_SECONDS && seconds > GROWTH * (recorded.get(file) ?? 0),
);
for (const { file, seconds } of grown) console.log(`Slower: ${file} took ${seconds.toFixed(0)} s (${known(file)})`);
const total = (list) => list.reduce((sum, seconds) => sum + seconds, 0).toFixed(0);
console.log(
  `All test files: ${total(files.map(({ seconds }) => seconds))} s (recorded: ${total([...recorded.values()])} s)`,
);
if (args.includes('--record')) {
  const lines = files.map(({ file, seconds }) => `${file}\t${seconds.toFixed(1)}\n`).sort();
  writeFileSync(RECORD, lines.join(''));
}

console.log(`Nightly tests: a sample of ${nightly} of ${ofNightly} ran (npm run test:nightly runs all)`);
for (const [why, count] of skipped) console.log(`Skipped: ${count} ${why}`);
for (const line of failures.slice(0, MOST_FAILURES)) console.log(line);
if (failures.length > MOST_FAILURES) console.log(`and ${failures.length - MOST_FAILURES} more`);
const skips = [...skipped.values()].reduce((sum, count) => sum + count, 0);
console.log(`${passed} passed, ${failures.length} failed${skips > 0 ? `, ${skips} skipped` : ''}`);
process.exit(failures.length === 0 ? 0 : 1);
