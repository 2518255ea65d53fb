/** Samples of nvidia-smi and DCGM in every form they are written in, and what only looks like them. */
import { describe, expect, it } from 'vitest';
import { deviceMonitor } from '../../parsers/device-monitor/index.js';
import { type Collected, claimed, collectRows, shortGauges } from '../support/collect-rows.js';

const MIB = 1024 ** 2;
const UUID0 = 'GPU-513536b6-7d19-9063-b049-1e69664bb298';
const read = (content: string | Uint8Array, options = {}): Promise<Collected> =>
  collectRows(deviceMonitor, content, options);
const noteKinds = ({ notes }: Collected): string[] => notes.map(({ kind }) => kind).sort();

describe('DCGM', () => {
  it('reads dcgmi dmon (rows without times)', async () => {
    const text =
      '#Entity   FBUSD           FBFRE           POWER       XIDER\n' +
      'ID        MB              MB              W\n' +
      'GPU 0     70321           10717           512.250     0\n' +
      'GPU 1     4               81034           70.100      79\n' +
      'GPU-I 3   12              N/A             70.100      0\n' +
      'GPU 1     4               81034           70.100      79\n';
    const all = await read(text);
    expect(shortGauges(all)).toEqual([
      `0 device_used ${70_321 * MIB}`,
      `0 device_free ${10_717 * MIB}`,
      `1 device_used ${4 * MIB}`,
      `1 device_free ${81_034 * MIB}`,
      `GPU-I 3 device_used ${12 * MIB}`,
      `1 device_used ${4 * MIB}`,
      `1 device_free ${81_034 * MIB}`,
    ]);
    expect(all.incidents).toMatchObject([
      { kind: 'hardware', device: 1, grammar: 'dcgm.xid', text: 'Xid 79', line: 4 },
    ]);
    expect(noteKinds(all)).toEqual(['monitor_absent', 'monitor_no_time']);
  });

  const LABELS = `gpu="3",UUID="${UUID0}",device="nvidia3",modelName="NVIDIA H100 80GB HBM3",Hostname="node-7",container="trainer",pod="job-0"`;

  it('reads dcgm-exporter metrics, with and without times, among foreign series', async () => {
    const text = [
      '# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).',
      '# TYPE DCGM_FI_DEV_FB_USED gauge',
      `DCGM_FI_DEV_FB_USED{${LABELS}} 70321`,
      `DCGM_FI_DEV_FB_USED{${LABELS}} 7.0322e+04 1700000000123`,
      `DCGM_FI_DEV_FB_FREE{${LABELS}} NaN 1700000000123`,
      `DCGM_FI_DEV_GPU_UTIL{${LABELS}} 97 1700000000.5`,
      `DCGM_FI_DEV_FB_USED{${LABELS},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"} 12 1700000000123`,
      'go_goroutines 12',
      '',
    ].join('\n');
    const all = await read(text);
    expect(shortGauges(all)).toEqual([
      `3 device_used ${70_321 * MIB}`,
      `3 device_used ${70_322 * MIB}`,
      `${UUID0}/gi7 device_used ${12 * MIB}`,
    ]);
    expect(all.gauges.map(({ place }) => [place.host, place.timeUs])).toEqual([
      ['node-7', null],
      ['node-7', 1_700_000_000_123_000],
      ['node-7', 1_700_000_000_123_000],
    ]);
    expect(all.values.find(({ name }) => name === 'gpu.utilization')!.place.timeUs).toBe(1_700_000_000_500_000);
    expect(all.summary?.clock).toBe('utc');
    expect(noteKinds(all)).toEqual(['monitor_figure', 'monitor_no_time']);
  });

  it('creates an incident for each new Xid and marks those the program caused', async () => {
    const row = (xid: number, ms: number): string => `DCGM_FI_DEV_XID_ERRORS{${LABELS}} ${xid} ${ms}\n`;
    const all = await read(
      row(0, 1_700_000_000_000) + row(31, 1_700_000_001_000) + row(31, 1_700_000_002_000) + row(79, 1_700_000_003_000),
    );
    expect(all.incidents).toMatchObject([
      {
        kind: 'other',
        timeUs: 1_700_000_001_000_000,
        host: 'node-7',
        device: 3,
        text: row(31, 1_700_000_001_000).trim(),
      },
      { kind: 'hardware', timeUs: 1_700_000_003_000_000 },
    ]);
  });

  it('reads results of Prometheus, and leaves nameless series out', async () => {
    const metric = { __name__: 'DCGM_FI_DEV_FB_USED', gpu: '0', UUID: UUID0, Hostname: 'nöde' };
    const text = JSON.stringify({
      status: 'success',
      data: {
        resultType: 'matrix',
        result: [
          {
            metric,
            values: [
              [1_700_000_000, '70321'],
              [1_700_000_015.5, '70322'],
              ['bad', '1'],
            ],
          },
          {
            metric: { ...metric, __name__: 'DCGM_FI_DEV_XID_ERRORS' },
            values: [
              [1_700_000_000, '0'],
              [1_700_000_015, '48'],
            ],
          },
          { metric: { gpu: '0' }, values: [[1_700_000_000, '1']] },
        ],
      },
    });
    const all = await read(text);
    expect(shortGauges(all)).toEqual([`0 device_used ${70_321 * MIB}`, `0 device_used ${70_322 * MIB}`]);
    expect(all.gauges[1]!.place).toMatchObject({
      timeUs: 1_700_000_015_500_000,
      host: 'nöde',
      line: 1,
      offset: text.indexOf('{"metric"'),
    });
    expect(all.incidents).toMatchObject([{ kind: 'hardware', timeUs: 1_700_000_015_000_000 }]);
    expect(noteKinds(all)).toEqual(['monitor_figure', 'monitor_nameless']);
    expect(claimed(text, 'query.json')).toBe('device-monitor');
    for (const chunkBytes of [1, 13]) expect(await read(text, { chunkBytes })).toEqual(all);
    // Cut in the second series: the first is kept.
    const cut = await read(text.slice(0, text.indexOf('XID_ERRORS')));
    expect(cut.gauges).toHaveLength(2);
    expect(cut.notes).toMatchObject([{ kind: 'monitor_damaged', severity: 'warning' }, { kind: 'monitor_figure' }]);
  });
});
