/** Runs git without any user configuration, so that commits have the same names everywhere. */
import { spawn } from 'node:child_process';

const ENVIRONMENT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
  TZ: 'UTC',
};

/** Variables by which a surrounding git (a hook, a bisect) would point to its own repository. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  return { ...Object.fromEntries(kept), ...ENVIRONMENT };
}

/** Standard output; throws where git fails. */
export async function git(directory: string, args: readonly string[], input?: string | Buffer): Promise<Buffer> {
  const child = spawn('git', [...args], { cwd: directory, env: cleanEnvironment(), stdio: ['pipe', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (status !== 0)
    throw new Error(`git ${args.slice(0, 3).join(' ')} in ${directory} ended with ${status}: ${errors}`);
  return Buffer.concat(output);
}

export async function gitText(directory: string, args: readonly string[]): Promise<string> {
  return (await git(directory, args)).toString().trim();
}
