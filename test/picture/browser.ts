/**
 * Chromium over the DevTools protocol, on a pipe: no port, no dependency. Upstream:
 * https://chromedevtools.github.io/devtools-protocol/ and `--remote-debugging-pipe` of Chromium.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

type Params = Readonly<Record<string, unknown>>;
export type CdpEvent = { readonly method: string; readonly params: Record<string, unknown> };

export interface Page {
  /** Calls a method of the protocol. Throws what it answers as an error. */
  send<Result = Record<string, unknown>>(method: string, params?: Params): Promise<Result>;
  /** The value of an expression in the page, awaited, as JSON carries it. */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Loads and waits for the load event. */
  goto(url: string): Promise<void>;
  /** A key by its name, such as `ArrowRight`, or its character. */
  press(key: string): Promise<void>;
  readonly events: readonly CdpEvent[];
  close(): Promise<void>;
}

export interface Browser {
  newPage(size?: { readonly width: number; readonly height: number; readonly scale?: number }): Promise<Page>;
  close(): Promise<void>;
}

const NAMES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** MBF_CHROMIUM, or where Debian puts it; undefined without one. */
export function findChromium(): string | undefined {
  const named = process.env['MBF_CHROMIUM'];
  return named !== undefined && named !== '' ? named : NAMES.find((name) => existsSync(name));
}

export async function launchBrowser(executable: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'mbforensics-browser-'));
  const flags = [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
    ...['--disable-dev-shm-usage', '--force-color-profile=srgb', '--hide-scrollbars', '--remote-debugging-pipe'],
  ];
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;
  const child = spawn(executable, [...flags, `--user-data-dir=${profile}`, 'about:blank'], { stdio: [...stdio] });
  const connection = connect(child);
  return {
    async newPage({ width, height, scale = 1 } = { width: 1600, height: 900 }) {
      const { targetId } = await connection.send<{ targetId: string }>('Target.createTarget', {
        url: 'about:blank',
        // A tab that is not in front draws no frames.
        newWindow: true,
      });
      const { sessionId } = await connection.send<{ sessionId: string }>('Target.attachToTarget', {
        targetId,
        flatten: true,
      });
      const page = pageOf(connection, sessionId, targetId);
      for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await page.send(`${domain}.enable`);
      await page.send('Emulation.setFocusEmulationEnabled', { enabled: true });
      await page.send('Emulation.setDeviceMetricsOverride', {
        ...{ width, height, deviceScaleFactor: scale, mobile: false },
      });
      return page;
    },
    async close() {
      const gone = new Promise((done) => child.once('exit', done));
      await connection.send('Browser.close').catch(() => child.kill('SIGKILL'));
      await gone;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Connection {
  send<Result = Record<string, unknown>>(method: string, params?: Params, sessionId?: string): Promise<Result>;
  listen(sessionId: string, listener: (event: CdpEvent) => void): void;
}

function connect(child: ChildProcess): Connection {
  const [, , , toBrowser, fromBrowser] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const waiting = new Map<number, { done(value: unknown): void; fail(error: Error): void }>();
  const listeners = new Map<string, (event: CdpEvent) => void>();
  let number = 0;
  let partial = '';
  fromBrowser.setEncoding('utf8').on('data', (text: string) => {
    const messages = (partial + text).split('\0');
    partial = messages.pop()!;
    for (const message of messages) receive(JSON.parse(message) as Message);
  });
  const receive = ({ id, result, error, method, params, sessionId }: Message): void => {
    if (id === undefined) {
      listeners.get(sessionId ?? '')?.({ method: method!, params: params ?? {} });
      return;
    }
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.done(result);
    else call?.fail(new Error(error.message));
  };
  child.once('exit', (code) => {
    for (const { fail } of waiting.values()) fail(new Error(`the browser ended with ${code}`));
    waiting.clear();
  });
  toBrowser.on('error', () => {});
  return {
    send: (method, params = {}, sessionId) =>
      new Promise((done, fail) => {
        number += 1;
        waiting.set(number, { done: done as (value: unknown) => void, fail });
        toBrowser.write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
      }),
    listen: (sessionId, listener) => void listeners.set(sessionId, listener),
  };
}

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly sessionId?: string;
}

function pageOf(connection: Connection, sessionId: string, targetId: string): Page {
  const events: CdpEvent[] = [];
  let loaded: (() => void) | undefined;
  connection.listen(sessionId, (event) => {
    events.push(event);
    if (event.method === 'Page.loadEventFired') loaded?.();
  });
  const send: Page['send'] = (method, params) => connection.send(method, params, sessionId);
  return {
    send,
    events,
    async evaluate<Value>(expression: string): Promise<Value> {
      const { result, exceptionDetails } = await send<{
        result: { value: Value };
        exceptionDetails?: { text: string; exception?: { description?: string } };
      }>('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      if (exceptionDetails !== undefined)
        throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async goto(url) {
      const load = new Promise<void>((done, fail) => {
        const late = setTimeout(() => fail(new Error(`${url} was not loaded in a minute`)), 60_000);
        loaded = () => {
          clearTimeout(late);
          done();
        };
      });
      await send('Page.navigate', { url });
      await load;
    },
    async press(key) {
      const text = key.length === 1 ? { text: key } : {};
      await send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...text });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', key });
    },
    async close() {
      await connection.send('Target.closeTarget', { targetId });
    },
  };
}
