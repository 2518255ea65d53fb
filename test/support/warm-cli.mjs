/**
 * The command line run over and over by one process: the compiled `main.js` of argv[2] itself, with the arguments, the
 * directory and the environment that each message names, as `warm-process.ts` sends them. What a process of its own
 * costs most is Node's start and code that was never run before.
 */
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

// `main.js` runs `program.js` by importing it: both are evaluated anew each time, all that they import is kept.
const hooks = `
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  const [run] = /\\?run=\\d+$/.exec(context.parentURL ?? '') ?? [''];
  return /\\/(?:bundle|cli)\\/program\\.js$/.test(resolved.url) ? { ...resolved, url: resolved.url + run } : resolved;
}
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const main = pathToFileURL(process.argv[2]).href;
const STREAMS = ['stdout', 'stderr'];
const EMITTERS = [process, ...STREAMS.map((name) => process[name])];
let runs = 0;

/** Calls `take` with what is written; as a pipe that is read fast enough. */
function capture(stream, take) {
  const { write } = stream;
  stream.write = (chunk, encoding, callback) => {
    take(Buffer.from(chunk, typeof encoding === 'string' ? encoding : undefined));
    const done = typeof encoding === 'function' ? encoding : callback;
    if (done !== undefined) process.nextTick(done, null);
    return true;
  };
  return () => {
    stream.write = write;
  };
}

function listeners() {
  return EMITTERS.map((emitter) => new Map(emitter.eventNames().map((name) => [name, emitter.rawListeners(name)])));
}

async function run({ args, cwd, env }) {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.argv = [process.argv[0], process.argv[1], ...args];
  process.exitCode = undefined;
  Reflect.deleteProperty(process, Symbol.for('mbforensics.judgement'));
  const before = listeners();
  const written = { stdout: [], stderr: [] };
  const restore = STREAMS.map((name) => capture(process[name], (bytes) => written[name].push(bytes)));
  try {
    runs += 1;
    await import(`${main}?run=${runs}`);
    // A process that ends would still finish what was only begun, such as a warning.
    await new Promise((done) => setImmediate(done));
    const known = before[0].get('exit') ?? [];
    for (const listener of process.rawListeners('exit')) {
      if (!known.includes(listener)) listener.call(process, process.exitCode ?? 0);
    }
    const [stdout, stderr] = STREAMS.map((name) => Buffer.concat(written[name]).toString('utf8'));
    return { status: Number(process.exitCode ?? 0), stdout, stderr };
  } finally {
    for (const put of restore) put();
    for (const [i, emitter] of EMITTERS.entries()) {
      for (const name of emitter.eventNames()) {
        const kept = before[i].get(name) ?? [];
        for (const listener of emitter.rawListeners(name)) if (!kept.includes(listener)) emitter.off(name, listener);
      }
    }
    process.exitCode = undefined;
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (request) => {
  run(request).then(
    (answer) => process.send({ answer, rssBytes: process.memoryUsage.rss() }),
    (error) => process.send({ fault: String(error?.stack ?? error) }),
  );
});
