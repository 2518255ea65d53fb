/**
 * Accounting of Slurm in every form that sacct and seff print: which failure ended a job, and how much memory it had.
 */
import { describe, expect, it } from 'vitest';
import { slurmAccounting } from '../../parsers/slurm-accounting/index.js';
import { type Collected, claimed, collectRows, shortValues } from '../support/collect-rows.js';

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const read = (content: string, options = {}): Promise<Collected> => collectRows(slurmAccounting, content, options);
const incidents = ({ incidents }: Collected) =>
  incidents.map(({ kind, line, exitCode, host }) => ({ kind, line, exitCode, host }));
const gauges = ({ gauges }: Collected): string[] =>
  gauges.map(({ metric, bytes, process, place }) => `${process} ${metric} ${bytes} ${place.host ?? '-'}`);
const noteKinds = ({ notes }: Collected): string[] => notes.map(({ kind }) => kind).sort();

const PARSABLE = `JobID|JobName|State|ExitCode|Start|End|Elapsed|NNodes|NodeList|NTasks|AllocCPUS|ReqMem|MaxRSS|MaxRSSNode|AveRSS|TRESUsageInMax
4711|train|OUT_OF_MEMORY|0:125|2026-11-20T10:00:00|2026-11-20T10:11:12|00:11:12|2|node[07-08]||256|1000G||||
4711.batch|batch|COMPLETED|0:0|2026-11-20T10:00:00|2026-11-20T10:11:12|00:11:12|1|node07|1|128||1200K|node07|1100K|cpu=00:00:01,mem=1200K
4711.extern|extern|OUT_OF_MEMORY|0:125|2026-11-20T10:00:00|2026-11-20T10:11:12|00:11:12|2|node[07-08]|2|256||256K|node07|256K|
4711.0|python|OUT_OF_MEMORY|0:125|2026-11-20T10:00:05|2026-11-20T10:11:12|00:11:07|2|node[07-08]|16|256||412420K|node08|400000K|cpu=00:56:24,gres/gpumem=38888M,gres/gpuutil=100,mem=412420K
`;

describe('sacct --parsable2', () => {
  it('makes one incident of a job, from the step that holds its cause', async () => {
    const all = await read(PARSABLE);
    expect(incidents(all)).toEqual([{ kind: 'host_oom', line: 5, exitCode: null, host: null }]);
    expect(all.incidents[0]).toMatchObject({
      grammar: 'slurm.sacct-state',
      timeText: '2026-11-20T10:11:12',
      timeUs: Date.UTC(2026, 10, 20, 10, 11, 12) * 1000,
      offset: PARSABLE.indexOf('4711.0'),
    });
    expect(all.incidents[0]!.text).toContain('4711.0|python|OUT_OF_MEMORY|0:125');
    expect(all.summary?.clock).toBe('printed');
  });

  it('keeps what a host may give and what steps took, as samples of their own', async () => {
    const all = await read(PARSABLE);
    expect(gauges(all)).toEqual([
      // 1000 GiB over two nodes
      `4711 train host_limit ${500 * GIB} -`,
      `4711.batch process_max_rss ${1200 * KIB} node07`,
      `4711.batch process_rss ${1100 * KIB} node07`,
      `4711.extern process_max_rss ${256 * KIB} node07`,
      `4711.extern process_rss ${256 * KIB} -`,
      `4711.0 python process_max_rss ${412_420 * KIB} node08`,
      `4711.0 python process_rss ${400_000 * KIB} -`,
    ]);
    expect(all.gauges.at(-2)).toMatchObject({ value: 412_420, unit: 'K', precisionBytes: 512 });
    const values = shortValues(all);
    expect(values).toContain('- slurm.elapsed[job=4711] 672 s');
    expect(values).toContain('- slurm.state[job=4711] OUT_OF_MEMORY');
    expect(values).toContain(`- slurm.gpu_memory_max[job=4711,step=0] ${38_888 * MIB} bytes`);
    expect(values).toContain('- slurm.gpu_utilization_max[job=4711,step=0] 100 %');
    expect(values).toContain(`- slurm.req_mem[job=4711] ${1000 * GIB} bytes`);
  });

  it('reads the closing bar of --parsable, other line ends and any chunks alike', async () => {
    const all = await read(PARSABLE);
    const barred = await read(PARSABLE.replaceAll('\n', '|\n'));
    expect(gauges(barred)).toEqual(gauges(all));
    expect(gauges(await read(`\ufeff${PARSABLE.replaceAll('\n', '\r\n')}`))).toEqual(gauges(all));
    for (const chunkBytes of [1, 3, 50]) expect(await read(PARSABLE, { chunkBytes })).toEqual(all);
  });

  const job = (state: string, exit: string, steps = ''): string =>
    `JobID|JobName|State|ExitCode\n7|a|${state}|${exit}\n${steps}`;
  it.each([
    ['OUT_OF_MEMORY', '0:125', 'host_oom', null],
    ['TIMEOUT', '0:0', 'time_limit', null],
    ['DEADLINE', '0:0', 'time_limit', null],
    ['NODE_FAIL', '0:0', 'hardware', null],
    ['BOOT_FAIL', '0:0', 'hardware', null],
    ['FAILED', '1:0', 'other', 1],
    ['FAILED', '137:0', 'other', 137],
    ['FAILED', '0:9', 'other', -9],
    ['CANCELLED by 1000', '0:15', 'cancelled', -15],
    ['PREEMPTED', '0:0', 'preempted', null],
  ])('%s %s is %s', async (state, exit, kind, exitCode) => {
    expect(incidents(await read(job(state, exit)))).toEqual([{ kind, line: 2, exitCode, host: null }]);
  });

  it.each(['COMPLETED', 'RUNNING', 'PENDING'])('%s is not a failure, nor are its cancelled steps', async (state) => {
    const all = await read(job(state, '0:0', '7.extern|extern|CANCELLED|0:15\n'));
    expect(all.incidents).toEqual([]);
  });

  it('takes a failed step of a job that went on for a failure, and memory before anything else', async () => {
    expect(incidents(await read(job('COMPLETED', '0:0', '7.0|python|FAILED|1:0\n')))).toMatchObject([
      { kind: 'other', line: 3 },
    ]);
    expect(
      incidents(await read(job('FAILED', '1:0', '7.0|python|OUT_OF_MEMORY|0:125\n7.1|python|FAILED|1:0\n'))),
    ).toEqual([{ kind: 'host_oom', line: 3, exitCode: 1, host: null }]);
  });

  it('takes each run of a requeued job, each task of an array and each part of a heterogeneous job for one', async () => {
    const all = await read(
      'JobID|State|ExitCode\n7|NODE_FAIL|0:0\n7|FAILED|1:0\n8_1|FAILED|2:0\n8_1.batch|FAILED|2:0\n8_2|COMPLETED|0:0\n9+0|FAILED|3:0\n9+0.0|FAILED|3:0\n',
    );
    expect(incidents(all).map(({ kind, line }) => [kind, line])).toEqual([
      ['hardware', 2],
      ['other', 3],
      ['other', 5],
      ['other', 8],
    ]);
  });

  it.each([
    ['512Gn', 4, 64, 'node[1-4]', 512 * GIB],
    ['4Gc', 4, 64, 'node[1-4]', 64 * GIB],
    ['1T', 4, 64, 'node[1-4]', 256 * GIB],
    ['16000M', undefined, undefined, 'a1', 16_000 * MIB],
    ['512', undefined, undefined, 'a1,b[2-3,5]', 128 * MIB],
    ['1.50G', undefined, undefined, 'a1', 1.5 * GIB],
  ])('ReqMem %s over %s nodes is a limit per node', async (reqMem, nodes, cpus, list, bytes) => {
    const all = await read(
      `JobID|State|ReqMem|NNodes|AllocCPUS|NodeList\n7|COMPLETED|${reqMem}|${nodes ?? ''}|${cpus ?? ''}|${list}\n`,
    );
    expect(all.gauges.map(({ metric, bytes }) => [metric, bytes])).toEqual([['host_limit', bytes]]);
  });

  it('does not take a request for all of a node for a limit of nothing, nor that of a job for that of a host', async () => {
    const header = 'JobID|State|ReqMem|AllocTRES|NodeList\n';
    const zero = await read(`${header}7|COMPLETED|0n|billing=8,cpu=8,mem=2000G,node=2|node[1-2]\n`);
    expect(zero.gauges.map(({ bytes }) => bytes)).toEqual([1000 * GIB]);
    const unknown = await read(`${header}7|PENDING|500G||None assigned\n`);
    expect(unknown.gauges).toEqual([]);
    expect(shortValues(unknown)).toContain(`- slurm.req_mem[job=7] ${500 * GIB} bytes`);
  });

  it('reads job, state and exit code of rows without a header and reports the other columns as lost', async () => {
    const text = '4711|train|OUT_OF_MEMORY|0:125|900|2G\n4711.batch|batch|COMPLETED|0:0|900|3G\n';
    expect(claimed(text, 'sacct.txt')).toBe('slurm-accounting');
    const all = await read(text);
    expect(incidents(all)).toMatchObject([{ kind: 'host_oom', line: 1 }]);
    expect(all.gauges).toEqual([]);
    expect(noteKinds(all)).toEqual(['slurm_guessed_header']);
  });

  it('leaves a row that was cut out', async () => {
    const all = await read(PARSABLE.slice(0, PARSABLE.lastIndexOf('|') - 4));
    expect(noteKinds(all)).toEqual(['slurm_cut']);
    expect(incidents(all)).toMatchObject([{ kind: 'host_oom', line: 2 }]);
  });
});

describe('sacct in fixed columns', () => {
  const FIXED = `
JobID           JobName      State ExitCode     MaxRSS     ReqMem        NodeList
------------ ---------- ---------- -------- ---------- ---------- ---------------
12345          analysis OUT_OF_ME+    0:125                 16Gn            n007
12345.batch       batch OUT_OF_ME+    0:125      15.8G      16Gn            n007
12345.exter+     extern  COMPLETED      0:0                 16Gn            n007
12346             größe CANCELLED+      0:0                   0n   None assigned
`;

  it('goes by the dashes, and completes states that were cut', async () => {
    const all = await read(FIXED);
    expect(incidents(all)).toEqual([
      { kind: 'host_oom', line: 5, exitCode: null, host: 'n007' },
      { kind: 'cancelled', line: 7, exitCode: null, host: null },
    ]);
    expect(gauges(all)).toEqual([
      `12345 analysis host_limit ${16 * GIB} n007`,
      `12345.batch process_max_rss ${Math.round(15.8 * GIB)} n007`,
    ]);
    expect(all.gauges[1]!.precisionBytes).toBeCloseTo(0.05 * GIB);
    expect(shortValues(all)).toContain('- slurm.name[job=12346] größe');
    expect(claimed(FIXED, 'sacct.log')).toBe('slurm-accounting');
  });

  it('reports lines that are not rows', async () => {
    const all = await read(`${FIXED}and so on\n`);
    expect(all.notes.find(({ kind }) => kind === 'slurm_foreign')).toMatchObject({ line: 8, count: 1 });
  });
});

describe('sacct --json', () => {
  const nothing = { set: false, infinite: false, number: 0 };
  const number = (value: number) => ({ set: true, infinite: false, number: value });
  const exit = (status: string, code: number) => ({
    status: [status],
    return_code: number(code),
    signal: { id: nothing, name: '' },
  });
  const job = {
    account: 'x',
    allocation_nodes: 2,
    array: { job_id: 0, task_id: nothing },
    association: { account: 'x' },
    time: { elapsed: 672, end: 1_700_000_672, start: 1_700_000_000, limit: number(240) },
    exit_code: exit('SUCCESS', 0),
    job_id: 26,
    name: 'train',
    nodes: 'node[07-08]',
    required: { CPUs: 1, memory_per_cpu: nothing, memory_per_node: number(512_000) },
    state: { current: ['FAILED'], reason: 'None' },
    steps: [
      {
        time: { elapsed: 670, end: number(1_700_000_670), start: number(1_700_000_000) },
        exit_code: exit('ERROR', 1),
        nodes: { count: 2, range: 'node[07-08]' },
        tasks: { count: 16 },
        state: ['OUT_OF_MEMORY'],
        step: { id: '26.0', name: 'python' },
        tres: {
          requested: {
            max: [
              { type: 'mem', name: '', id: 2, count: 422_318_080, node: 'node08', task: 9 },
              { type: 'gres', name: 'gpumem', id: 1002, count: 40_777_023_488 },
            ],
            average: [{ type: 'mem', name: '', id: 2, count: 400_000_000 }],
          },
        },
      },
    ],
    tres: { allocated: [{ type: 'mem', name: '', id: 2, count: 1_024_000 }] },
  };
  const document = (jobs: unknown[]): string =>
    JSON.stringify({ jobs, meta: { slurm: { release: '24.05.4' } }, errors: [], warnings: [] }, null, 2);

  it('reads jobs and steps with their place', async () => {
    const text = document([job]);
    const all = await read(text);
    expect(gauges(all)).toEqual([
      `26 train host_limit ${512_000 * MIB} -`,
      `26.0 python process_max_rss 422318080 node08`,
      `26.0 python process_rss 400000000 -`,
    ]);
    expect(all.gauges[1]).toMatchObject({ unit: 'bytes', precisionBytes: 0 });
    expect(all.incidents).toMatchObject([
      {
        kind: 'host_oom',
        exitCode: 1,
        timeUs: 1_700_000_670_000_000,
        line: 3,
        offset: text.indexOf('{\n      "account"'),
      },
    ]);
    expect(all.incidents[0]!.text).toContain('OUT_OF_MEMORY');
    expect(all.summary?.clock).toBe('utc');
    expect(shortValues(all)).toContain('- slurm.time_limit[job=26] 14400 s');
    expect(claimed(text, 'sacct.json')).toBe('slurm-accounting');
    for (const chunkBytes of [1, 64]) expect(await read(text, { chunkBytes })).toEqual(all);
  });

  it('reads the plain numbers and words of older data parsers', async () => {
    const old = {
      ...job,
      exit_code: { status: 'SIGNALED', return_code: 0, signal: { signal_id: 9, name: 'KILL' } },
      state: { current: 'FAILED', reason: 'None' },
      required: { memory_per_node: 1000, memory_per_cpu: null },
      steps: [{ ...job.steps[0], state: 'FAILED', step: { id: { job_id: 26, step_id: 'batch' }, name: 'batch' } }],
    };
    const all = await read(document([old]));
    expect(gauges(all)[0]).toBe(`26 train host_limit ${1000 * MIB} -`);
    expect(incidents(all)).toMatchObject([{ kind: 'other', exitCode: 1 }]);
    expect(gauges(all)[1]).toMatch(/^26\.batch /);
  });

  it('keeps the jobs before a cut, and refuses a document without any', async () => {
    const text = document([job, { ...job, job_id: 27 }]);
    const cut = await read(text.slice(0, text.lastIndexOf('"python"')));
    expect(cut.incidents).toHaveLength(1);
    expect(cut.notes).toMatchObject([
      { kind: 'slurm_damaged', severity: 'warning', offset: text.lastIndexOf('{\n      "account"') },
    ]);
    expect((await read(text.slice(0, text.indexOf('"python"')))).refused).toBe('MBF2941');
  });

  it('is not what squeue lists', () => {
    expect(claimed(document([{ ...job, job_state: ['RUNNING'] }]), 'squeue.json')).not.toBe('slurm-accounting');
  });
});

describe('seff', () => {
  const SEFF = `Job ID: 38148424
Cluster: openmind7
User/Group: x/y
State: OUT_OF_MEMORY (exit code 0)
Nodes: 5
Cores per node: 40
CPU Utilized: 00:56:57
CPU Efficiency: 8.54% of 11:06:40 core-walltime
Job Wall-clock time: 1-00:03:20
Memory Utilized: 35.84 GB
Memory Efficiency: 59.74% of 60.00 GB (12.00 GB/node)
`;

  it('reads the state, the limit of a node and what was used', async () => {
    const all = await read(SEFF);
    expect(incidents(all)).toEqual([{ kind: 'host_oom', line: 4, exitCode: null, host: null }]);
    expect(all.incidents[0]!.text).toBe('State: OUT_OF_MEMORY (exit code 0)');
    expect(gauges(all)).toEqual([`38148424 host_limit ${12 * GIB} -`]);
    expect(shortValues(all)).toContain(`- slurm.memory_utilized[job=38148424] ${Math.round(35.84 * GIB)} bytes`);
    expect(shortValues(all)).toContain('- slurm.elapsed[job=38148424] 86600 s');
    expect(claimed(SEFF, 'seff.txt')).toBe('slurm-accounting');
  });

  it('shares a total out over the nodes, as older versions print it', async () => {
    const all = await read(SEFF.replace(' (12.00 GB/node)', ''));
    expect(gauges(all)).toEqual([`38148424 host_limit ${12 * GIB} -`]);
  });

  it('reads several, and none of what was not sampled', async () => {
    const all = await read(
      SEFF + SEFF.replace('38148424', '5').replace('35.84 GB', '0.00 MB').replace('OUT_OF_MEMORY', 'COMPLETED'),
    );
    expect(all.incidents).toHaveLength(1);
    expect(shortValues(all).filter((value) => value.includes('memory_utilized'))).toHaveLength(1);
  });
});

describe('what is none', () => {
  it.each([
    [
      'a job log that ends with its own accounting',
      `${'iteration 1/ 10 | consumed samples: 1 |\n'.repeat(20)}${PARSABLE}`,
      'slurm-1.out',
      'log',
    ],
    [
      'accounting in front of a log',
      `${PARSABLE}${'iteration 1/ 10 | consumed samples: 1 |\n'.repeat(20)}`,
      'slurm-1.out',
      'log',
    ],
    ['a table of somebody else', 'Name|State|Value\na|b|c\n', 'x.txt', 'log'],
    [
      'a list of squeue',
      '             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n 1 a b c R 1:00 1 n1\n',
      'x.txt',
      'log',
    ],
    ['JSON with jobs', '{"jobs": [{"job_id": 1}]}', 'x.json', null],
  ])('%s', (_, content, name, owner) => {
    expect(claimed(content, name)).toBe(owner);
  });
});

describe('hostile input', () => {
  it('odd figures are left out', async () => {
    const all = await read(
      'JobID|State|ReqMem|MaxRSS|NNodes|NodeList|Elapsed\n7|COMPLETED|-5G|NaN|0|n[1-999999999]|x\n8|COMPLETED|99999999999999999999G|9999999999999999T|-1|n[5-1]|99:99:99:99\n',
    );
    expect(all.gauges).toEqual([]);
    expect(all.incidents).toEqual([]);
  });

  it('wide, endless, deep and broken texts end in rows, notes or one error', async () => {
    const header = 'JobID|State|ExitCode\n';
    for (const text of [
      `${header}${'7|'.repeat(1_000_000)}\n`,
      `${header}7|FAILED|1:0\n${'x'.repeat(3_000_000)}`,
      `JobID|State${'|State'.repeat(100_000)}\n7|FAILED\n`,
      `{"jobs": [{"job_id": 1, "association": {}, "exit_code": {}, "tres": ${'['.repeat(100_000)}`,
      `{"jobs": [{"job_id": 1, "association": 1, "exit_code": {}, "tres": null, "steps": [1, "x", {"tres": 5}]}]}`,
      `{"jobs": [null, 5, "x", {"job_id": -1, "association": 1, "exit_code": {}, "tres": null}]}`,
      `Job ID: 7\nState: ${'X'.repeat(100_000)}\nState: FAILED (exit code 999)\n`,
    ]) {
      const all = await read(text);
      expect(all.refused ?? 'MBF2941').toBe('MBF2941');
    }
  });

  it('the accounting of a whole cluster is cut with a word about it', async () => {
    const rows = Array.from({ length: 25_000 }, (_, i) => `${i}|COMPLETED|0:0`).join('\n');
    const all = await read(`JobID|State|ExitCode\n${rows}\n`);
    expect(all.notes).toMatchObject([{ kind: 'slurm_many_jobs', count: 5000 }]);
  });

  it('every prefix is read or refused', async () => {
    for (let length = 1; length < PARSABLE.length; length += 7) await read(PARSABLE.slice(0, length));
  });
});
