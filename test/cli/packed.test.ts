/** What `npm pack` would publish works where a stranger unpacks it: other directory, only the declared dependencies. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Script } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunsResult } from '../../src/model/results/common.js';
import { packageRoot } from '../../src/store/load-queries.js';
import { repoRoot, sharedBuild } from '../store/scratch.js';
import { type Cli, cliOf, wordsOf } from '../support/cli.js';
import { smallSnapshot } from '../support/small-snapshot.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly files: readonly string[];
}

describe('the package', () => {
  const root = temporaryDirectory();
  let files: string[] = [];
  let cli: Cli;

  beforeAll(() => {
    // A tree of its own to pack from: the checkout's dist/ may be old, and others may be using it.
    const staging = join(root, 'staging');
    mkdirSync(staging);
    const manifest = JSON.parse(readFileSync(join(repoRoot, 'package.json'), 'utf8')) as Manifest;
    cpSync(sharedBuild(), join(staging, 'dist'), { recursive: true });
    for (const name of readdirSync(repoRoot)) {
      if (!['dist', 'node_modules', '.git'].includes(name)) {
        cpSync(join(repoRoot, name), join(staging, name), {
          recursive: true,
          filter: (path) => !/\.(?:duckdb|wal|tmp)$/.test(path),
        });
      }
    }
    const packed = spawnSync('npm', ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', root], {
      cwd: staging,
      encoding: 'utf8',
    });
    if (packed.status !== 0) throw new Error(`npm pack failed: ${packed.stderr}`);
    const [archive] = JSON.parse(packed.stdout) as { filename: string; files: { path: string }[] }[];
    files = archive!.files.map(({ path }) => path);
    const unpacked = spawnSync('tar', ['-xzf', join(root, archive!.filename), '-C', root]);
    if (unpacked.status !== 0) throw new Error(`tar failed: ${String(unpacked.stderr)}`);
    // Only what the manifest declares; a dependency that is merely installed here would be missing there.
    for (const name of Object.keys(manifest.dependencies)) {
      const link = join(root, 'package', 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(repoRoot, 'node_modules', name), link);
    }
    rmSync(staging, { recursive: true });
    cli = cliOf(join(root, 'package', manifest.bin['mbforensics']!));
  });

  it('holds the compiled sources and every query, and nothing else', () => {
    const queries = readdirSync(join(repoRoot, 'queries'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.sql'),
    );
    expect(queries.length).toBeGreaterThan(0);
    for (const path of queries) expect(files).toContain(`queries/${path.replaceAll('\\', '/')}`);
    for (const path of files) {
      expect(path).toMatch(
        /^(?:dist\/(?:src|parsers|queries)\/.*\.js|dist\/src\/build-id|dist\/src\/knowledge\/.*\.json|dist\/src\/bundle\/.*\.cjs(?:\.[a-z0-9]+-[a-z0-9]+\.code)?|dist\/src\/store\/new(?:\.duckdb|-tables\.json)|dist\/docs\/.*\.md|dist\/schemas\/[a-z-]+\.json|dist\/src\/report\/page\/page\.css|samples\/(?!generate).*|queries\/.*\.(?:sql|ts)|package\.json|(?:README|ARCHITECTURE|CONTRIBUTING|SECURITY|CHANGELOG)\.md|LICENSE|docs\/[^/]*\.(?:md|svg)|parsers\/(?:LIMITS|[^/]*\/FORMAT)\.md)$/,
      );
    }
    expect(files).toContain('dist/src/cli/main.js');
    expect(existsSync(cli.script)).toBe(true);
  });

  it('ingests, lists and answers from another working directory', () => {
    const elsewhere = join(root, 'elsewhere');
    const run = join(elsewhere, 'run');
    mkdirSync(run, { recursive: true });
    writeFileSync(join(run, 'snapshot_2.pickle'), smallSnapshot());
    const options = { cwd: elsewhere, env: { XDG_CACHE_HOME: join(root, 'cache') } };
    cli.expect(0, ['ingest', 'run'], options);
    expect(cli.expect(0, ['runs', '--json=full'], options).json<RunsResult>().runs).toMatchObject([
      { name: 'run', snapshots: 1 },
    ]);
    expect(cli.expect(0, ['sql', 'SELECT rank FROM snapshot', '--format', 'csv'], options).stdout).toBe('rank\n2\n');
    for (const verb of ['sources', 'snapshot', 'peak', 'diagnose'])
      cli.expect(0, [...wordsOf(verb), '--json=full'], options);
    expect(cli.expect(0, ['--version'], options).stdout.trim()).toBe(
      (JSON.parse(readFileSync(join(repoRoot, 'package.json'), 'utf8')) as { version: string }).version,
    );
  });
});

describe('the build', () => {
  it('lets V8 take the code that the build kept', async () => {
    const file = join(packageRoot(), 'dist', 'src', 'cli', 'load-bundle.js');
    const { loadBundled, scripts } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      loadBundled(id: string): unknown;
      scripts: ReadonlyMap<string, Script>;
    };
    loadBundled('./program.cjs');
    expect(scripts.size).toBeGreaterThan(1);
    expect([...scripts].filter(([, script]) => script.cachedDataRejected !== false).map(([path]) => path)).toEqual([]);
    // V8 accepts code of another processor, and fails when it runs it.
    const kept = readdirSync(dirname([...scripts.keys()][0]!)).filter((name) => name.endsWith('.code'));
    const platform = `.cjs.${process.platform}-${process.arch}.code`;
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.filter((name) => !name.endsWith(platform))).toEqual([]);
  });
});
