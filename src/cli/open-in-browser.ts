/** `--open`: hands a file to the desktop. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Context } from './context.js';

/** On a machine without a desktop, one line on standard error gives the path of the file. */
export function openInBrowser(file: string, { env, err }: Context): void {
  const [program, ...before] = commandOf(process.platform, env['BROWSER']);
  const failed = (): void => err(`no browser can be opened here; the page is ${resolve(file)}\n`);
  // Its own session: the browser outlives this process, and a signal to it does not reach the browser.
  const child = spawn(program, [...before, resolve(file)], { env, detached: true, stdio: 'ignore' });
  child.on('error', failed);
  child.on('spawn', () => child.unref());
}

function commandOf(platform: NodeJS.Platform, browser: string | undefined): [string, ...string[]] {
  if (browser !== undefined && browser !== '') return [browser];
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? ['explorer'] : ['xdg-open'];
}
