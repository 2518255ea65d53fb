/**
 * The recorder of samples/record, as far as it can be judged without torch and without a GPU: it runs, it says what it
 * cannot do, and what its scenarios request leads, in the model of the allocator, to the outcomes they announce.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sniffLog } from '../../parsers/log/sniff.js';
import { createDriver } from '../../samples/generate/simulate/simulated-driver.js';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import type { OomReport } from '../../src/allocator/oom-report.js';
import { type AllocatorSettings, DEFAULT_SETTINGS, readAllocConf } from '../../src/allocator/settings.js';
import { GIB, MIB } from '../../src/model/units.js';
import { environment } from '../support/cli.js';
import { hasPython, skipLoudly } from '../support/corpus.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const RECORDER = fileURLToPath(new URL('../../samples/record/', import.meta.url));
const EXPANDABLE: AllocatorSettings = { ...DEFAULT_SETTINGS, expandableSegments: true };

if (!hasPython) skipLoudly('the recorder of samples/record', 'python3');

interface Described {
  readonly name: string;
  readonly expected: readonly string[];
  readonly settings: string;
}

interface ListManifest {
  readonly schema: string;
  readonly all_as_expected: boolean;
  readonly scenarios: readonly {
    readonly name: string;
    readonly directory: string | null;
    readonly expected: readonly string[];
    readonly outcome: string;
    readonly as_expected: boolean | null;
  }[];
}

type Operation =
  | { readonly op: 'alloc'; readonly name: string; readonly bytes: number; readonly site: string }
  | { readonly op: 'free'; readonly name: string }
  | { readonly op: 'iteration'; readonly number: number; readonly of: number };

describe.runIf(hasPython)('the recorder', () => {
  const scratch = temporaryDirectory();

  /** A Python program; `path` is where it finds modules first. */
  const run = (args: readonly string[], path?: string, env?: Record<string, string>) =>
    spawnSync('python3', args, {
      encoding: 'utf8',
      cwd: scratch,
      maxBuffer: 1 << 28,
      env: environment({ PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: path, ...env }),
    });

  /** What a program prints that has nothing to complain of. */
  function printed(args: readonly string[], path?: string): string {
    const answer = run(args, path);
    expect(answer.stderr).toBe('');
    return answer.stdout;
  }

  /**
   * A directory that holds a module `torch` with this text; whoever has it on the path imports that one, installed or
   * not.
   */
  function torchOf(name: string, text: string): string {
    const directory = join(scratch, name);
    mkdirSync(join(directory, 'torch'), { recursive: true });
    writeFileSync(join(directory, 'torch', '__init__.py'), text);
    return directory;
  }

  const RECORD = join(RECORDER, 'record.py');
  const record = (args: readonly string[], path?: string, env?: Record<string, string>) =>
    run([RECORD, ...args], path, env);
  const noTorch = (): string =>
    torchOf('no-torch', `raise ModuleNotFoundError("No module named 'torch'", name='torch')\n`);
  const manifestIn = (directory: string): unknown => JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'));

  const scenarios = (cap: number): readonly Described[] =>
    JSON.parse(printed([RECORD, '--list', '--json', '--cap-bytes', String(cap)], noTorch())) as Described[];

  const workloads = new Map<string, readonly Operation[]>();
  function workload(name: string, cap: number, seed: number): readonly Operation[] {
    const key = `${name} ${cap} ${seed}`;
    const known = workloads.get(key) ?? printWorkload(name, cap, seed);
    workloads.set(key, known);
    return known;
  }

  function printWorkload(name: string, cap: number, seed: number): readonly Operation[] {
    const options = ['--print-workload', name, '--cap-bytes', String(cap), '--seed', String(seed)];
    const lines = printed([RECORD, ...options], noTorch())
      .trim()
      .split('\n');
    return lines.map((line) => JSON.parse(line) as Operation);
  }

  /** One of the `*_plan` functions of workloads.py. */
  function plan(name: string, cap: number): Readonly<Record<string, number>> {
    const code = `import json,sys; sys.path.insert(0, sys.argv[1]); import workloads; print(json.dumps(getattr(workloads, sys.argv[2])(int(sys.argv[3]))))`;
    return JSON.parse(printed(['-c', code, RECORDER, name, String(cap)])) as Record<string, number>;
  }

  const pythonFiles = (): string[] =>
    readdirSync(RECORDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.py'));

  // -------------------------------------------------------------------------------------------------------------------

  it('compiles, and needs nothing but torch and the standard library', () => {
    const files = pythonFiles();
    expect(files.length).toBeGreaterThan(15);
    const code = `
import ast, json, os, py_compile, sys
root, scratch, files = sys.argv[1], sys.argv[2], sys.argv[3:]
own = {os.path.splitext(name)[0].split(os.sep)[0] for name in files} | {'torch'}
foreign = []
for number, name in enumerate(files):
    py_compile.compile(os.path.join(root, name), cfile=os.path.join(scratch, '%d.pyc' % number), doraise=True)
    for node in ast.walk(ast.parse(open(os.path.join(root, name)).read())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []
        foreign += [n for n in names if n.split('.')[0] not in own and n.split('.')[0] not in getattr(sys, 'stdlib_module_names', [n.split('.')[0]])]
print(json.dumps(foreign))
`;
    expect(JSON.parse(printed(['-c', code, RECORDER, scratch, ...files]))).toEqual([]);
  });

  it('lists its scenarios without torch, and each has its module and its place in the README', () => {
    const listed = scenarios(4 * GIB);
    const plain = record(['--list'], noTorch());
    expect(plain.status).toBe(0);
    expect(plain.stdout.trim().split('\n')).toHaveLength(listed.length);
    expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length);
    const readme = readFileSync(join(RECORDER, 'README.md'), 'utf8');
    for (const { name, expected } of listed) {
      expect(plain.stdout).toContain(name);
      expect(readme, name).toContain(`\`${name}\``);
      expect(expected.every((outcome) => outcome === 'oom' || outcome === 'completed')).toBe(true);
    }
    const code = `
import importlib, sys; sys.path.insert(0, sys.argv[1])
from scenarios import SCENARIOS
for s in SCENARIOS: assert callable(importlib.import_module('scenarios.' + s.module).run), s.name
`;
    expect(run(['-c', code, RECORDER], noTorch())).toMatchObject({ status: 0, stderr: '' });
  });

  it('leaves nothing behind in its own directory', () => {
    const names = readdirSync(RECORDER, { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => /pycache|\.pyc$/.test(name))).toEqual([]);
  });

  it('says once that torch is missing, and ends with 3', () => {
    const out = join(scratch, 'without-torch');
    const answer = record(['--out', out], noTorch());
    expect(answer).toMatchObject({ status: 3, stdout: '', stderr: 'nothing recorded: torch not installed\n' });
    expect(readdirSync(out)).toEqual(['manifest.json']);
    const manifest = manifestIn(out) as ListManifest;
    expect(manifest).toMatchObject({ schema: 'mbforensics-recordings/1', all_as_expected: false });
    expect(manifest.scenarios.map(({ name }) => name)).toEqual(scenarios(4 * GIB).map(({ name }) => name));
    const reason = 'torch not installed';
    for (const entry of manifest.scenarios)
      expect(entry).toMatchObject({ outcome: 'unavailable', reason, as_expected: null, directory: null });
  });

  it('says so in one line when a single scenario is run without torch', () => {
    const options = ['capacity', '--cap-bytes', String(4 * GIB), '--seed', '1'];
    const answer = run([join(RECORDER, 'run_scenario.py'), ...options], noTorch());
    expect(answer).toMatchObject({ status: 3, stdout: '', stderr: 'capacity: torch not installed\n' });
    expect(JSON.parse(readFileSync(join(scratch, 'result.json'), 'utf8'))).toMatchObject({
      outcome: 'unavailable',
      reason: 'torch not installed',
      everywhere: true,
    });
  });

  it('goes on after a scenario that fails, keeps its log and manifest, and ends with 1', () => {
    const broken = torchOf('broken-torch', "raise OSError('libnvToolsExt.so.1: cannot open shared object file')\n");
    const out = join(scratch, 'broken');
    const answer = record(['--out', out, '--only', 'capacity,sweep-max-split'], broken, {
      NVTE_FUSED_ATTN: '0',
      SOME_SECRET: 'hunter2',
      PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True',
      CUDA_VISIBLE_DEVICES: '2,3',
    });
    expect(answer.status).toBe(1);
    const manifest = manifestIn(out) as ListManifest;
    expect(manifest.scenarios.map(({ name, outcome, as_expected: as }) => [name, outcome, as])).toEqual([
      ['capacity', 'error', false],
      ['sweep-max-split', 'error', false],
    ]);
    const variables = { CUDA_VISIBLE_DEVICES: '2', NVTE_FUSED_ATTN: '0' };
    const chosen = scenarios(4 * GIB).filter(({ name }) => /^(?:capacity|sweep-max-split)$/.test(name));
    expect(chosen).toHaveLength(2);
    for (const scenario of chosen) {
      const { name, settings } = scenario;
      const directory = join(out, name);
      expect(manifestIn(directory)).toMatchObject({
        schema: 'mbforensics-recording/1',
        ...scenario,
        outcome: 'error',
        as_expected: false,
        reason: 'OSError: libnvToolsExt.so.1: cannot open shared object file',
        environment: name === 'capacity' ? variables : { ...variables, PYTORCH_CUDA_ALLOC_CONF: settings },
        oom: [],
        seed: 1,
      });
      const log = readFileSync(join(directory, 'run_rank0.log'), 'utf8');
      expect(log).toContain('Traceback (most recent call last):\n  File "record/run_scenario.py", line ');
      const files = ['launch.sh', 'manifest.json', 'memory_stats.json', 'run_config.yaml', 'run_rank0.log'];
      expect(readdirSync(directory).sort()).toEqual(files);
      for (const file of files) expect(readFileSync(join(directory, file), 'utf8'), file).not.toMatch(/hunter2/);
      const launch = readFileSync(join(directory, 'launch.sh'), 'utf8');
      expect(launch).toContain(`exec python3 -u run_scenario.py ${name} --cap-bytes ${4 * GIB} --seed 1`);
      expect(launch.includes('PYTORCH_CUDA_ALLOC_CONF')).toBe(settings !== '');
    }
    // Recording again replaces a recording; where nothing can be recorded, it stays.
    writeFileSync(join(out, 'capacity', 'left-over'), '');
    expect(record(['--out', out, '--only', 'capacity'], broken).status).toBe(1);
    expect(existsSync(join(out, 'capacity', 'left-over'))).toBe(false);
    expect(record(['--out', out, '--only', 'capacity,clean'], noTorch()).status).toBe(3);
    const later = manifestIn(out) as ListManifest;
    expect(later.scenarios.map(({ name, outcome, directory }) => [name, outcome, directory])).toEqual([
      ['capacity', 'error', 'capacity'],
      ['sweep-max-split', 'error', 'sweep-max-split'],
      ['clean', 'unavailable', null],
    ]);
    expect(existsSync(join(out, 'capacity', 'run_rank0.log'))).toBe(true);
  });

  it('stops a scenario that does not end', () => {
    const out = join(scratch, 'slow');
    const slow = torchOf('slow-torch', 'import time\nprint("importing", flush=True)\ntime.sleep(600)\n');
    expect(record(['--out', out, '--only', 'clean', '--timeout', '2'], slow).status).toBe(1);
    const manifest = manifestIn(out) as ListManifest;
    expect(manifest.scenarios[0]).toMatchObject({ outcome: 'timeout', as_expected: false, reason: 'killed after 2 s' });
    expect(readFileSync(join(out, 'clean', 'run_rank0.log'), 'utf8')).toBe('importing\n');
  });

  it('refuses what it cannot do with 2, and never removes what it did not write', () => {
    expect(record(['--only', 'capacty'])).toMatchObject({ status: 2 });
    expect(record(['--cap-gib', '0.5']).stderr).toContain('the cap must be at least 2 GiB');
    const out = join(scratch, 'occupied');
    mkdirSync(join(out, 'clean'), { recursive: true });
    writeFileSync(join(out, 'clean', 'precious.txt'), 'mine');
    const answer = record(['--out', out, '--only', 'clean'], noTorch());
    expect(answer.status).toBe(2);
    expect(answer.stderr).toContain('exists and is no recording');
    expect(existsSync(join(out, 'clean', 'precious.txt'))).toBe(true);
  });

  it('writes nothing into a manifest that a log parser would take for a failure', () => {
    const text = record(['--list', '--json'], noTorch()).stdout;
    expect(
      sniffLog({ bytes: Buffer.from(text), name: 'manifest.json', sizeBytes: text.length }).score,
    ).toBeLessThanOrEqual(0.1);
  });

  it('makes snapshots neutral without changing anything else, and packs them the same every time', () => {
    const code = `
import json, os, pickle, sys
sys.path.insert(0, sys.argv[1]); scratch = sys.argv[2]
from neutral import Neutral, neutral_snapshot, write_gzip
def text(t): return ''.join(list(t))
def frame(f, n): return {'filename': text(f), 'name': text(n), 'line': 7}
def snapshot(packages, record):
    shared = [frame(packages + '/torch/nn/modules/linear.py', 'forward'), frame(record + '/gpt.py', 'mlp'), frame('??', 'main')]
    other = [shared[0], frame(packages + '/torch/nn/modules/linear.py', '__init__')]
    entry = {'action': text('alloc'), 'addr': 2**46, 'size': 513, 'stream': 0, 'time_us': 5, 'frames': shared}
    freed = {'action': text('free_requested'), 'addr': 2**46, 'size': 513, 'stream': 0, 'time_us': 6, 'frames': shared}
    oom = {'action': 'oom', 'device_free': 3, 'size': 1024, 'stream': 0, 'time_us': 6}
    block = {'address': 2**46, 'size': 1024, 'requested_size': 513, 'state': 'active_allocated', 'frames': shared, 'forward_frames': [text(record + '/gpt.py:12 forward')]}
    segment = {'device': 0, 'address': 2**46, 'total_size': 2097152, 'allocated_size': 1024, 'active_size': 1024, 'segment_pool_id': (0, 0), 'frames': other, 'blocks': [block]}
    return {'segments': [segment], 'device_traces': [[], [entry, freed, oom]], 'allocator_settings': {'expandable_segments': False}, 'external_annotations': []}
neutral = Neutral([('/opt/site/python/packages', 'site-packages'), ('/opt/site', '<prefix>'), ('/home/eva/tool/record', 'record'), ('/home/eva', '~'), ('relative', 'x'), ('/', 'x')])
packed, content = neutral_snapshot(pickle.dumps(snapshot('/opt/site/python/packages', '/home/eva/tool/record'), 4), neutral)
same, _ = neutral_snapshot(packed, neutral)
paths = [os.path.join(scratch, name) for name in ('one.gz', 'two.gz')]
for path in paths: write_gzip(path, packed)
class Bomb:
    def __reduce__(self): return (print, ('boom',))
try: neutral_snapshot(pickle.dumps({'segments': [], 'device_traces': [], 'x': Bomb()}), neutral); bomb = 'loaded'
except pickle.UnpicklingError as error: bomb = str(error)
json.dump({
    'as written neutrally': packed == pickle.dumps(snapshot('site-packages', 'record'), 4),
    'stable': same == packed, 'content': content, 'bomb': bomb,
    'text': neutral.text('File "/home/eva/tool/record/x.py" /opt/site/lib /opt/sites/lib /home/evan /mnt/home/eva ~'),
    'environment': neutral.environment({'CUDA_HOME': '/home/eva/cuda', 'NCCL_DEBUG': 'INFO', 'HOME': '/home/eva', 'SLURM_JOB_ID': '7', 'SLURM_JOB_USER': 'eva', 'TORCHELASTIC_RUN_ID': '1', 'TORCH_LOGS': '+dynamo'}),
}, sys.stdout)
`;
    expect(JSON.parse(printed(['-c', code, RECORDER, scratch]))).toEqual({
      'as written neutrally': true,
      stable: true,
      bomb: 'a snapshot never names builtins.print',
      content: {
        trace_entries: [0, 3],
        segments: 1,
        reserved_bytes: 2 * MIB,
        active_bytes: 1024,
        allocated_bytes: 1024,
        oom_entries: 1,
        expandable_segments: false,
      },
      text: 'File "record/x.py" <prefix>/lib /opt/sites/lib /home/evan /mnt/home/eva ~',
      environment: { CUDA_HOME: '~/cuda', NCCL_DEBUG: 'INFO', SLURM_JOB_ID: '7', TORCH_LOGS: '+dynamo' },
    });
    const [one, two] = ['one.gz', 'two.gz'].map((name) => readFileSync(join(scratch, name)));
    expect(one!.equals(two!)).toBe(true);
    expect(one!.readUInt32LE(4)).toBe(0);
    expect(gunzipSync(one!)[0]).toBe(0x80);
  });

  // -------------------------------------------------------------------------------------------------------------------
  // What the scenarios request, carried out by the model of the allocator.

  interface Run {
    /** Null if the last operation was reached. */
    readonly failed: { readonly name: string; readonly iterations: number; readonly oom: OomReport } | null;
    readonly allocator: CachingAllocator<string>;
    readonly trace: readonly TraceEntry<string>[];
    /** Highest Σ of live requests. */
    readonly peakLiveBytes: number;
  }

  interface Limits {
    readonly settings?: AllocatorSettings;
    readonly direction?: 'ascending' | 'descending';
    /**
     * With it the cap is a memory fraction of a device of this size, as the recorder sets it; else the device has that
     * size.
     */
    readonly deviceBytes?: number;
  }

  function makeAllocator(
    cap: number,
    limits: Limits = {},
  ): { allocator: CachingAllocator<string>; trace: TraceEntry<string>[] } {
    const { settings = DEFAULT_SETTINGS, direction = 'ascending', deviceBytes } = limits;
    const trace: TraceEntry<string>[] = [];
    const allocator = new CachingAllocator<string>({
      driver: createDriver({ totalBytes: deviceBytes ?? cap, direction }),
      settings,
      trace: (entry) => trace.push(entry),
      ...(deviceBytes === undefined ? {} : { memoryFraction: cap / deviceBytes }),
    });
    return { allocator, trace };
  }

  function carryOut(operations: readonly Operation[], cap: number, limits: Limits = {}): Run {
    const { allocator, trace } = makeAllocator(cap, limits);
    const live = new Map<string, Block<string>>();
    let iterations = 0;
    for (const operation of operations) {
      if (operation.op === 'iteration') iterations += 1;
      else if (operation.op === 'free') {
        allocator.free(live.get(operation.name)!);
        live.delete(operation.name);
      } else {
        const result = allocator.malloc(operation.bytes, 0, operation.site);
        if (!result.ok) {
          const peakLiveBytes = allocator.statistics.requestedBytes.peak;
          return { failed: { name: operation.name, iterations, oom: result.oom }, allocator, trace, peakLiveBytes };
        }
        // Python frees what a name held before only after the new block exists; no workload rebinds one.
        if (live.has(operation.name)) throw new Error(`${operation.name} is live already`);
        live.set(operation.name, result.block);
      }
    }
    return { failed: null, allocator, trace, peakLiveBytes: allocator.statistics.requestedBytes.peak };
  }

  const holes = (allocator: CachingAllocator<string>): number[] =>
    allocator
      .snapshot()
      .flatMap((segment) => segment.blocks.filter(({ state }) => state === 'inactive').map((block) => block.sizeBytes));

  /** Odd caps, the smallest one, the default, and most of an 80 GiB device. */
  const CAPS = [2 * GIB, 4 * GIB, 5_368_709_121, 11 * GIB + 12_345_678, 72 * GIB];
  const H200 = 150_121_545_728;

  it.each(['fragmentation', 'capacity', 'sweep'])('the workload %s depends on cap and seed alone', (name) => {
    const operations = workload(name, 4 * GIB, 1);
    expect(printWorkload(name, 4 * GIB, 1)).toEqual(operations);
    expect(JSON.stringify(workload(name, 4 * GIB, 2)) === JSON.stringify(operations)).toBe(name === 'capacity');
    const live = new Set<string>();
    for (const operation of operations) {
      if (operation.op === 'alloc') {
        expect(Number.isSafeInteger(operation.bytes) && operation.bytes > 0).toBe(true);
        live.add(operation.name);
      } else if (operation.op === 'free') expect(live.delete(operation.name), operation.name).toBe(true);
    }
    expect(operations.at(-1)).toMatchObject({ op: 'iteration' });
  });

  const limitsOf = (settings: AllocatorSettings): readonly Limits[] => [
    { settings },
    { settings, direction: 'descending' },
    { settings, deviceBytes: H200 },
  ];

  it.each(CAPS)('fragmentation fails at a cap of %i bytes although half of the cap would do', (cap) => {
    for (const seed of [1, 2, 3]) {
      const operations = workload('fragmentation', cap, seed);
      for (const limits of limitsOf(DEFAULT_SETTINGS)) {
        const { failed, allocator } = carryOut(operations, cap, limits);
        expect(failed).toMatchObject({ name: 'activation.long', iterations: 1 });
        const { requestedBytes, allocatedBytes, reservedBytes } = failed!.oom;
        expect(allocatedBytes + requestedBytes).toBeLessThan(cap / 2);
        expect(reservedBytes).toBeGreaterThan(0.75 * cap);
        expect(reservedBytes + requestedBytes).toBeGreaterThan(cap);
        expect(reservedBytes - allocatedBytes).toBeGreaterThan(requestedBytes);
        expect(Math.max(...holes(allocator))).toBeLessThan(cap / 14);
        // Every segment holds something: there is nothing a flush could have given back.
        expect(allocator.snapshot().every((segment) => segment.allocatedBytes > 0)).toBe(true);
      }
    }
  });

  it.each([0.97, 1.03])('fragmentation has the same outcomes if the limit is off by a factor of %f', (factor) => {
    const operations = workload('fragmentation', 4 * GIB, 1);
    expect(carryOut(operations, 4 * GIB * factor, { deviceBytes: H200 }).failed).toMatchObject({
      name: 'activation.long',
    });
    expect(carryOut(operations, 4 * GIB * factor, { deviceBytes: H200, settings: EXPANDABLE }).failed).toBeNull();
  });

  it.each(CAPS)('capacity fails at a cap of %i bytes for want of memory, with expandable segments too', (cap) => {
    const operations = workload('capacity', cap, 1);
    for (const settings of [DEFAULT_SETTINGS, EXPANDABLE]) {
      for (const limits of limitsOf(settings)) {
        const { failed } = carryOut(operations, cap, limits);
        expect(failed).toMatchObject({ iterations: 1 });
        const { requestedBytes, allocatedBytes, reservedBytes } = failed!.oom;
        expect(allocatedBytes + requestedBytes).toBeGreaterThan(cap);
        if (!settings.expandableSegments) expect(reservedBytes).toBe(allocatedBytes);
      }
    }
  });

  it.each(CAPS)('the sweep completes at a cap of %i bytes under every setting', (cap) => {
    const swept = scenarios(cap).filter(({ name }) => name.startsWith('sweep-'));
    expect(swept.length).toBeGreaterThanOrEqual(7);
    for (const seed of [1, 2, 3]) sweepCompletes(cap, workload('sweep', cap, seed), swept);
  });

  function sweepCompletes(cap: number, operations: readonly Operation[], swept: readonly Described[]): void {
    const traces = swept.map(({ name, settings, expected }) => {
      expect(expected).toEqual(['completed']);
      const conf = readAllocConf(settings);
      expect(conf.problems).toEqual([]);
      for (const allowed of [0.98 * cap, 1.02 * cap]) {
        expect(carryOut(operations, allowed, { settings: conf.settings, deviceBytes: H200 }).failed, name).toBeNull();
      }
      const below: Limits = { settings: conf.settings, deviceBytes: H200, direction: 'descending' };
      expect(carryOut(operations, cap, below).failed, name).toBeNull();
      const result = carryOut(operations, cap, { settings: conf.settings, deviceBytes: H200 });
      expect(result.failed, name).toBeNull();
      expect(result.peakLiveBytes).toBeLessThan(0.6 * cap);
      // The settings are met by what they are for.
      const { trace } = result;
      const { statistics } = result.allocator;
      if (name === 'sweep-default') expect(statistics.numAllocRetries).toBeGreaterThan(0);
      if (/sweep-(max-split|garbage-collection)/.test(name)) {
        expect(statistics.numAllocRetries).toBe(0);
        expect(trace.some(({ action }) => action === 'segment_free')).toBe(true);
      }
      return JSON.stringify(result.trace.map(({ action, addr, sizeBytes }) => [action, addr, sizeBytes]));
    });
    // Each setting decides something: no two recordings would be the same.
    expect(new Set(traces).size).toBe(traces.length);
  }

  function mallocOk(allocator: CachingAllocator<string>, bytes: number, stream = 0): Block<string> {
    const result = allocator.malloc(bytes, stream);
    if (!result.ok) throw new Error(`unexpected OOM: ${JSON.stringify(result.oom)}`);
    return result.block;
  }

  function mallocFails(allocator: CachingAllocator<string>, bytes: number): OomReport {
    const result = allocator.malloc(bytes, 0);
    if (result.ok) throw new Error(`${bytes} bytes were expected not to fit`);
    return result.oom;
  }

  it.each(CAPS)('graph pools hold what a request would need at a cap of %i bytes', (cap) => {
    const { graphs, buffers_per_graph: each, buffer_bytes: buffer, ...rest } = plan('graph_pools_plan', cap);
    const request = rest['request_bytes'];
    const { allocator } = makeAllocator(cap, { deviceBytes: H200 });
    const input = mallocOk(allocator, buffer!);
    // The warm-up on a side stream, then empty_cache, as torch.cuda.graph begins.
    for (const block of Array.from({ length: each! }, () => mallocOk(allocator, buffer!, 9))) allocator.free(block);
    for (let graph = 0; graph < graphs!; graph += 1) {
      allocator.flush();
      const pool = allocator.createPool({ kind: 'graph' });
      allocator.beginCapture(pool, 7);
      const buffers = Array.from({ length: each! }, () => mallocOk(allocator, buffer!, 7));
      mallocOk(allocator, 4096, 7);
      for (const block of buffers) allocator.free(block);
      allocator.endCapture(pool);
    }
    const oom = mallocFails(allocator, request!);
    expect(oom.allocatedBytes + request!).toBeLessThan(0.7 * cap);
    expect(oom.reservedBytes - oom.allocatedBytes).toBeGreaterThan(0.49 * cap);
    expect(input.state).toBe('active_allocated');
  });

  it.each(CAPS)('a MemPool holds what a request would need at a cap of %i bytes', (cap) => {
    const { pool_bytes: pooled, kept_bytes: kept, request_bytes: request } = plan('mem_pool_plan', cap);
    for (const held of [true, false]) {
      const { allocator } = makeAllocator(cap, { deviceBytes: H200 });
      const pool = allocator.createPool({ kind: 'user' });
      allocator.beginUsePool(pool);
      allocator.free(mallocOk(allocator, pooled!));
      mallocOk(allocator, kept!);
      allocator.endUsePool(pool);
      // Releases differ in who counts as a user of the pool; the small block makes that irrelevant.
      if (!held) allocator.releasePool(pool);
      expect(mallocFails(allocator, request!).allocatedBytes).toBe(kept!);
    }
  });

  it.each(CAPS)('a pending free makes a request fail that succeeds when made again, at a cap of %i bytes', (cap) => {
    const sizes = plan('cross_stream_plan', cap);
    const { allocator } = makeAllocator(cap, { deviceBytes: H200 });
    allocator.free(mallocOk(allocator, sizes['segment_bytes']!));
    const pinned = mallocOk(allocator, sizes['pinned_bytes']!);
    const bucket = mallocOk(allocator, sizes['request_bytes']!);
    expect(bucket.addr).toBe(pinned.addr + sizes['pinned_bytes']!);
    mallocOk(allocator, sizes['held_bytes']!);
    allocator.recordStream(bucket, 3);
    allocator.free(bucket);
    for (let small = 0; small < 4; small += 1) mallocOk(allocator, MIB);
    const { statistics } = allocator;
    expect(statistics.activeBytes.current - statistics.allocatedBytes.current).toBe(sizes['request_bytes']);
    const oom = mallocFails(allocator, sizes['request_bytes']!);
    expect(oom.allocatedBytes + oom.requestedBytes).toBeLessThan(0.9 * cap);
    expect(mallocOk(allocator, sizes['request_bytes']!).addr).toBe(bucket.addr);
  });

  it.each(CAPS)('a leak of that size exceeds a cap of %i bytes before its steps are done', (cap) => {
    const leak = plan('leak_plan', cap);
    expect(leak['steps']! * leak['kept_bytes_per_step']!).toBeGreaterThan(cap);
    expect(leak['steps']).toBeLessThanOrEqual(40);
    expect(leak['kept_bytes_per_step']).toBe(leak['batch']! * leak['sequence']! * leak['vocabulary']! * 4);
  });

  it.each(CAPS)('fragmentation completes with expandable segments at a cap of %i bytes', (cap) => {
    for (const seed of [1, 2, 3]) {
      const operations = workload('fragmentation', cap, seed);
      for (const limits of limitsOf(EXPANDABLE)) {
        const { failed, allocator, trace } = carryOut(operations, cap, limits);
        expect(failed).toBeNull();
        // It passes through the same shortage: only unmapping the pages of the holes makes room.
        expect(allocator.statistics.numAllocRetries).toBe(1);
        expect(trace.filter(({ action }) => action === 'segment_unmap')).toHaveLength(12);
      }
    }
  });
});
