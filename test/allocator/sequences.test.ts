/** What each setting changes, on the sequences of `sequences.yaml`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createDriver, settingsFromConf } from '../../samples/generate/simulate/simulated-driver.js';
import type { Block, PoolId } from '../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import type { OomReport } from '../../src/allocator/oom-report.js';
import { ALLOCATOR_VARIANTS } from '../../src/allocator/variants.js';
import { MIB } from '../../src/model/units.js';

const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = parse(
  readFileSync(join(import.meta.dirname, 'sequences.yaml'), 'utf8'),
);

const bytesOf = (text: string): number => (text.endsWith('B') ? Number(text.slice(0, -1)) : Number(text) * MIB);
/** In MiB, if that is a multiple of a half. */
const spell = (bytes: number): string => (bytes % (MIB / 2) === 0 ? String(bytes / MIB) : `${bytes}B`);
const list = (items: readonly string[], between = ', '): string =>
  items.length === 0 ? 'nothing' : items.join(between);

function start({
  conf = '',
  device = '4096',
  fraction,
  release = '2.7',
  direction,
  base = '1000',
}: Record<string, string>) {
  const trace: TraceEntry<string>[] = [];
  const allocator = new CachingAllocator<string>({
    driver: createDriver({
      totalBytes: bytesOf(device),
      baseAddress: bytesOf(base),
      ...(direction === 'descending' ? { direction } : {}),
    }),
    settings: settingsFromConf(conf),
    variant: ALLOCATOR_VARIANTS[release as keyof typeof ALLOCATOR_VARIANTS],
    ...(fraction === undefined || fraction === 'none' ? {} : { memoryFraction: Number(fraction) }),
    trace: (entry) => trace.push(entry),
  });
  const { statistics } = allocator;
  const blocks = new Map<string, Block<string>>();
  const pools = new Map<string, PoolId>();
  let oom: OomReport | undefined;
  const block = (name: string): Block<string> => blocks.get(name)!;
  const pool = (name: string): PoolId => pools.get(name)!;
  const at = (addr: number | null): string => (addr === null ? '-' : spell(addr - bytesOf(base)));
  /** The figures that are expected, by name, as they are. */
  const figures = (expected: string, of: (name: string) => number | { current: number }): string => {
    const names = expected.split(', ').map((figure) => figure.split(' ')[0]!);
    return list(
      names.map((name) => {
        const figure = of(name);
        const value = typeof figure === 'number' ? figure : figure.current;
        return `${name} ${name.endsWith('Bytes') ? spell(value) : value}`;
      }),
    );
  };

  const commands: Readonly<Record<string, (value: string, stream: number) => void>> = {
    done: (stream) => allocator.finishStream(Number(stream)),
    complete: (name) => allocator.completeFree(block(name)),
    capture: (name, stream) => allocator.beginCapture(pool(name), stream),
    end: (name) => allocator.endCapture(pool(name)),
    use: (name) => allocator.beginUsePool(pool(name)),
    unuse: (name) => allocator.endUsePool(pool(name)),
    release: (name) => allocator.releasePool(pool(name)),
    pool(value) {
      const [name = '', kind, option = ''] = value.split(/[:,]/);
      pools.set(name, allocator.createPool(kind === 'user' ? { kind, [option]: true } : {}));
    },
    fails(size, stream) {
      const result = allocator.malloc(bytesOf(size), stream);
      if (result.ok) throw new Error(`${size} MiB were allocated`);
      oom = result.oom;
    },
  };
  const command = (text: string): void => {
    const [, name = '', operator, value = '', stream = '0'] = /^(\w*)([=>-]?)([^@]*)(?:@(\d+))?$/.exec(text)!;
    if (text === 'flush') allocator.flush();
    else if (operator === '-') allocator.free(block(value));
    else if (operator === '>') allocator.recordStream(block(name), Number(value));
    else if (commands[name] !== undefined) commands[name](value, Number(stream));
    else {
      const result = allocator.malloc(bytesOf(value), Number(stream));
      if (!result.ok) throw new Error(`${text}: unexpected OOM: ${JSON.stringify(result.oom)}`);
      blocks.set(name, result.block);
    }
  };

  const state: Readonly<Record<string, (name: string, expected: string) => string>> = {
    calls: () =>
      list(
        trace
          .filter(({ action }) => action.startsWith('segment_') || action === 'oom')
          .map(({ action, addr, sizeBytes }) => `${action} ${at(addr)} ${spell(sizeBytes)}`),
      ),
    trace: () => list(trace.map(({ action, sizeBytes }) => `${action} ${spell(sizeBytes)}`)),
    streams: () => trace.map(({ stream }) => stream).join(' '),
    completed: () => String(trace.filter(({ action }) => action === 'free_completed').length),
    layout: () => {
      const shown = ({ addr, sizeBytes, state }: { addr: number; sizeBytes: number; state: string }) =>
        `${at(addr)}+${spell(sizeBytes)}${state === 'inactive' ? ' free' : ''}`;
      return list(
        allocator.snapshot().map((run) => run.blocks.map(shown).join(', ')),
        '; ',
      );
    },
    segments: () =>
      list(allocator.snapshot().map((run) => `${spell(run.totalBytes)} ${run.segmentType} ${run.stream}`)),
    reservations: () => String([...allocator.allSegments()].length),
    reserved: () => spell(statistics.reservedBytes.current),
    at: (name) => at(block(name).addr),
    block: (name) => `${at(block(name).addr)}+${spell(block(name).sizeBytes)}`,
    sizes: () => [...blocks.values()].map(({ sizeBytes }) => spell(sizeBytes)).join(' '),
    state: (name) => block(name).state,
    same: (_, expected) => {
      const [one = '', other = ''] = expected.split(' ');
      return block(one) === block(other) ? expected : 'two blocks';
    },
    pool: (name, expected) => {
      const id = (blocks.get(name)?.segment.pool.id ?? pool(name)).join();
      return pools.get(expected)?.join() === id ? expected : id;
    },
    statistics: (_, expected) => figures(expected, (name) => statistics[name as 'segment']),
    peaks: (_, expected) => figures(expected, (name) => statistics[name as 'segment'].peak),
    oom: (_, expected) => figures(expected, (name) => oom![name as 'reservedBytes']),
  };

  return (line: string): void => {
    const [todo = '', ...checks] = line.split(' | ').map((part) => part.trim());
    const [, times = '1', repeated = todo] = /^(\d+)x \((.*)\)$/.exec(todo) ?? [];
    trace.length = 0;
    for (let i = Number(times); i > 0; i -= 1) for (const text of repeated.split(' ')) if (text !== '') command(text);
    for (const check of checks) {
      const [, what = '', name = '', expected = ''] = /^(\w+)(?: (\S+))?: (.*)$/.exec(check)!;
      if (what === 'throws') expect(() => command(name), line).toThrow(expected);
      else expect(state[what]!(name, expected), `${line}: ${what}`).toBe(expected);
    }
  };
}

/** `name=value` of each word. */
const optionsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/([a-z]+)=(\S+)/g)].map(([, name, value]) => [name, value]));

for (const [group, { with: common = '', ...sequences }] of Object.entries(GROUPS)) {
  describe(group, () => {
    it.each(Object.entries(sequences))('%s', (_, text) => {
      const [first = '', ...others] = text.trim().split('\n');
      const options = first.startsWith('with ') ? first : '';
      const lines = [...(options === '' ? [first] : []), ...others].filter((line) => !line.startsWith('#'));
      const run = start({ ...optionsOf(common), ...optionsOf(options) });
      // A line that begins with a check, or follows a comma, goes on with the one before it.
      const joined = lines.join('\n').replaceAll(/\n\s*(?=\| )|(?<=,)\n\s*/g, ' ');
      for (const line of joined.split('\n')) run(line);
    });
  });
}
