#!/usr/bin/env node
/**
 * Where the process begins. It imports nothing but Node, so that even a broken installation meets the rule below;
 * everything else is `program.ts`, bundled by the build.
 *
 * `triage` and `bisect run` judge commits for `git bisect run`, which takes 1 to 127 but for 125 for "bad". So with
 * these verbs every way out is 255, at which git stops: a typo, an uncaught exception, a failed import; unless
 * `judgement.ts` noted a judgement.
 */
const JUDGED = Symbol.for('mbforensics.judgement');
const NOT_JUDGED = 255;

const args = process.argv.slice(2);
const verb = args.find((arg) => !arg.startsWith('-'));
if (verb === 'triage' || (verb === 'bisect' && args.includes('run'))) {
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
