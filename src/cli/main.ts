#!/usr/bin/env node
/**
 * Where the process begins. It imports nothing but Node, so that even a broken installation meets the rule below;
 * everything else is `program.ts`, bundled by the build.
 *
 * `bisect triage` and `bisect run` judge commits for `git bisect run`, for which the exit codes 1 to 127 except 125 are
 * "bad". So with these verbs every way out is 255, at which git stops: a typo (`triage` without `bisect` is one), an
 * uncaught exception, a failed import; unless a judgement was noted.
 */
const JUDGED = Symbol.for('mbforensics.judgement');
const NOT_JUDGED = 255;

const args = process.argv.slice(2);
// Values of options before the verb are not words of it.
const isValue = (i: number): boolean => /^--(?:db|wait|memory-limit|capacity|color)$/.test(args[i - 1] ?? '');
const [verb, part = ''] = args.filter((arg, i) => !arg.startsWith('-') && !isValue(i));
if (verb === 'triage' || (verb === 'bisect' && /^(?:run|triage)$/.test(part))) {
  process.on('exit', () => {
    const code: unknown = Reflect.get(process, JUDGED);
    process.exitCode = typeof code === 'number' ? code : NOT_JUDGED;
  });
}

// npm warns of an older Node; an archive that was unpacked with tar does not.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 20 || (major === 20 && minor >= 19)) {
  const { runProgram } = await import(new URL('../bundle/program.js', import.meta.url).href);
  await runProgram();
} else {
  process.stderr.write(
    `mbforensics needs Node 20.19 or newer; this is ${process.versions.node} (${process.execPath})\n`,
  );
  process.exitCode = 2;
}

export {};
