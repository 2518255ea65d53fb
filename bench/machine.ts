/** What the figures were measured on. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, type as osType, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import { packageRoot } from '../src/store/load-queries.js';
import type { RssMethod } from './measure.js';

export interface Python {
  readonly executable: string;
  readonly version: string;
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_bytes: number;
  readonly os: string;
  /** Processes that wanted a core in the minute before; well above 0 means that other work ran at the same time. */
  readonly load: number;
  readonly node: string;
  readonly duckdb: string;
  readonly python: string | null;
  readonly mbforensics: string;
  readonly rss_method: RssMethod;
}

/** The interpreter itself: `python3` may be a version manager's shell script, whose start is not Python's fault. */
export function findPython(): Python | undefined {
  try {
    const program = 'import sys, platform; print(sys.executable); print(platform.python_version())';
    const [executable = '', version = ''] = execFileSync('python3', ['-c', program], { encoding: 'utf8' }).split('\n');
    return { executable, version };
  } catch {
    return undefined;
  }
}

export function describeMachine(python: Python | undefined, rssMethod: RssMethod): Machine {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  return {
    cpu: cpus()[0]?.model ?? 'unknown CPU',
    cores: availableParallelism(),
    memory_bytes: totalmem(),
    os: `${osType()} ${release()}`,
    load: loadavg()[0] ?? 0,
    node: process.versions.node,
    duckdb: duckdbVersion(),
    python: python?.version ?? null,
    mbforensics: (manifest as { version: string }).version,
    rss_method: rssMethod,
  };
}
