/** Samples of nvidia-smi and DCGM in every form they are written in, and what only looks like them. */
import { describe, expect, it } from 'vitest';
import { deviceMonitor } from '../../parsers/device-monitor/index.js';
import type { ByteSource } from '../../src/model/parser.js';
import {
  type Collected,
  claimed,
  collectFrom,
  collectRows,
  shortGauges,
  shortValues,
} from '../support/collect-rows.js';

const MIB = 1024 ** 2;
const UUID0 = 'GPU-513536b6-7d19-9063-b049-1e69664bb298';
const UUID1 = 'GPU-43be1050-5a2d-47f9-bf95-a0e7d429b953';
const read = (content: string | Uint8Array, options = {}): Promise<Collected> =>
  collectRows(deviceMonitor, content, options);
const noteKinds = ({ notes }: Collected): string[] => notes.map(({ kind }) => kind).sort();

const QUERY = [
  'timestamp, index, uuid, pci.bus_id, name, memory.total [MiB], memory.used [MiB], memory.free [MiB], memory.reserved [MiB], utilization.gpu [%], power.draw [W], temperature.gpu',
  `2026/11/20 10:11:12.123, 0, ${UUID0}, 00000000:1B:00.0, NVIDIA H100 80GB HBM3, 81559 MiB, 70321 MiB, 10717 MiB, 521 MiB, 97 %, 512.25 W, 61`,
  `2026/11/20 10:11:12.125, 1, ${UUID1}, 00000000:43:00.0, NVIDIA H100 80GB HBM3, 81559 MiB, 4 MiB, 81034 MiB, 521 MiB, 0 %, [N/A], 33`,
  `2026/11/20 10:11:13.123, 0, ${UUID0}, 00000000:1B:00.0, NVIDIA H100 80GB HBM3, 81559 MiB, 80100 MiB, 938 MiB, 521 MiB, 100 %, 530.00 W, 62`,
  '',
].join('\n');

describe('nvidia-smi --query-gpu as CSV', () => {
  it('reads memory, figures and words with device, UUID, time and precision', async () => {
    const all = await read(QUERY);
    expect(shortGauges(all)).toEqual([
      `0 device_total ${81_559 * MIB}`,
      `0 device_used ${70_321 * MIB}`,
      `0 device_free ${10_717 * MIB}`,
      `0 device_reserved ${521 * MIB}`,
      `1 device_total ${81_559 * MIB}`,
      `1 device_used ${4 * MIB}`,
      `1 device_free ${81_034 * MIB}`,
      `1 device_reserved ${521 * MIB}`,
      `0 device_used ${80_100 * MIB}`,
      `0 device_free ${938 * MIB}`,
      `0 device_reserved ${521 * MIB}`,
    ]);
    expect(shortValues(all)).toEqual([
      '0 gpu.name NVIDIA H100 80GB HBM3',
      '0 gpu.utilization 97 %',
      '0 gpu.power 512.25 W',
      '0 gpu.temperature 61 °C',
      '1 gpu.name NVIDIA H100 80GB HBM3',
      '1 gpu.utilization 0 %',
      '1 gpu.temperature 33 °C',
      '0 gpu.utilization 100 %',
      '0 gpu.power 530 W',
      '0 gpu.temperature 62 °C',
    ]);
    const used = all.gauges[1]!;
    expect(used).toMatchObject({ value: 70_321, unit: 'MiB', precisionBytes: MIB / 2, gpuId: UUID0, device: 0 });
    expect(used.place).toMatchObject({
      line: 2,
      offset: QUERY.indexOf('2026/'),
      device: 0,
      host: null,
      rank: null,
      timeUs: Date.UTC(2026, 10, 20, 10, 11, 12, 123) * 1000,
      format: 'nvidia-smi.csv',
    });
    expect(all.summary).toEqual({ rank: null, rankOrigin: null, clock: 'printed' });
    expect(noteKinds(all)).toEqual(['monitor_absent']);
  });

  it('reads the same in any chunks, with other line ends and a byte order mark', async () => {
    const all = await read(QUERY);
    for (const chunkBytes of [1, 2, 7, 100]) expect(await read(QUERY, { chunkBytes })).toEqual(all);
    const returned = await read(`\ufeff${QUERY.replaceAll('\n', '\r\n')}`);
    expect(shortGauges(returned)).toEqual(shortGauges(all));
    expect(shortGauges(await read(QUERY.replaceAll('\n', '\r')))).toEqual(shortGauges(all));
  });

  it('takes columns in any order, without units, and headers that come again or change', async () => {
    const all = await read(
      [
        'memory.used, index',
        '100, 1',
        'memory.used, index',
        '200, 1',
        'index, memory.free [MiB], memory.used [MiB]',
        '1, 7 MiB, 300 MiB',
        '',
      ].join('\n'),
    );
    expect(shortGauges(all)).toEqual([
      `1 device_used ${100 * MIB}`,
      `1 device_used ${200 * MIB}`,
      `1 device_free ${7 * MIB}`,
      `1 device_used ${300 * MIB}`,
    ]);
    expect(noteKinds(all)).toEqual(['monitor_no_time']);
  });

  it("takes the MB of drivers before 346 for MiB, and a `date` between the queries for the rows' time", async () => {
    const all = await read(
      'index, memory.used [MB]\n0, 11651 MB\nMon Nov 20 10:11:12 UTC 2023\n0, 11652 MB\n0, 11653 MB\n',
    );
    expect(all.gauges.map(({ bytes, unit }) => [bytes, unit])).toEqual([
      [11_651 * MIB, 'MB'],
      [11_652 * MIB, 'MB'],
      [11_653 * MIB, 'MB'],
    ]);
    expect(all.gauges.map(({ place }) => place.timeUs)).toEqual([
      null,
      Date.UTC(2023, 10, 20, 10, 11, 12) * 1000,
      Date.UTC(2023, 10, 20, 10, 11, 12) * 1000,
    ]);
    expect(all.summary?.clock).toBe('utc');
  });

  it('reports changed words and keeps nonzero counts', async () => {
    const all = await read(
      'index, memory.used [MiB], pstate, ecc.errors.uncorrected.volatile.total\n0, 1 MiB, P0, 0\n0, 1 MiB, P0, 0\n0, 1 MiB, P8, 2\n0, 1 MiB, P8, 2\n',
    );
    expect(shortValues(all)).toEqual(['0 gpu.pstate P0', '0 gpu.pstate P8', '0 gpu.ecc.volatile.uncorrected 2 count']);
  });

  it('creates one incident for a lost device, from any of its sources', async () => {
    const all = await read(
      [
        'timestamp, index, memory.used [MiB], utilization.gpu [%]',
        '2026/11/20 10:11:12.123, 0, 5 MiB, 1 %',
        '2026/11/20 10:11:13.123, 0, [GPU is lost], [GPU is lost]',
        '2026/11/20 10:11:14.123, 0, [GPU is lost], [GPU is lost]',
        'Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error',
        'Failed to initialize NVML: Driver/library version mismatch',
        '',
      ].join('\n'),
    );
    expect(all.incidents.map(({ kind, device, line, text }) => ({ kind, device, line, text }))).toEqual([
      { kind: 'hardware', device: 0, line: 3, text: '[GPU is lost]' },
      {
        kind: 'hardware',
        device: null,
        line: 5,
        text: 'Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error',
      },
    ]);
    expect(all.incidents[0]!.timeUs).toBe(Date.UTC(2026, 10, 20, 10, 11, 13, 123) * 1000);
    expect(noteKinds(all)).toContain('monitor_complaint');
  });

  it('leaves out a last row that was cut, in its cells or in a number', async () => {
    const header = 'timestamp, index, memory.used [MiB]\n2026/11/20 10:11:12.123, 0, 12 MiB\n';
    for (const end of ['2026/11/20 10:11:13.1', '2026/11/20 10:11:13.123, 0, 12', '2026/11/20 10:11:13.123, 0']) {
      const all = await read(header + end);
      expect(all.gauges).toHaveLength(1);
      const cut = all.notes.find(({ kind }) => kind === 'monitor_cut')!;
      expect(cut).toMatchObject({ line: 3, offset: header.length, severity: 'warning' });
    }
    expect((await read(`${header}2026/11/20 10:11:13.123, 0, 12 MiB`)).gauges).toHaveLength(2);
  });

  it('refuses a device query without a header and suggests a fix', async () => {
    const rows = QUERY.split('\n').slice(1).join('\n');
    expect(claimed(rows, 'gpu.csv')).toBe('device-monitor');
    expect((await read(rows)).refused).toBe('MBF2932');
  });
});

describe('nvidia-smi --query-compute-apps as CSV', () => {
  const HEADER = 'timestamp, gpu_uuid, gpu_bus_id, pid, process_name, used_gpu_memory [MiB]';
  const ROWS = [
    `2026/11/20 10:11:12.123, ${UUID0}, 00000000:1B:00.0, 4711, /usr/bin/python3, 70302 MiB`,
    `2026/11/20 10:11:12.123, ${UUID0}, 00000000:1B:00.0, 4712, python, train.py, --größe, 5, 10 MiB`,
    `2026/11/20 10:11:12.123, ${UUID0}, 00000000:1B:00.0, 4713, [Not Found], [N/A]`,
  ];

  it('keeps pid and name, commas in it included, and leaves the index unknown', async () => {
    const all = await read([HEADER, ...ROWS, ''].join('\n'));
    expect(
      all.gauges.map(({ metric, pid, process, device, gpuId, bytes }) => [metric, pid, process, device, gpuId, bytes]),
    ).toEqual([
      ['process_used', 4711, '/usr/bin/python3', undefined, UUID0, 70_302 * MIB],
      ['process_used', 4712, 'python, train.py, --größe, 5', undefined, UUID0, 10 * MIB],
    ]);
  });

  it('takes the index from a device query in the same file', async () => {
    const all = await read([`index, uuid, memory.used [MiB]`, `3, ${UUID0}, 5 MiB`, HEADER, ROWS[0], ''].join('\n'));
    expect(all.gauges.at(-1)).toMatchObject({ metric: 'process_used', device: 3 });
    expect(all.gauges.at(-1)!.place.device).toBe(3);
  });

  it('reads it without a header: the columns are recognized by their values', async () => {
    const all = await read([ROWS[0], ''].join('\n'));
    expect(all.gauges).toMatchObject([{ metric: 'process_used', pid: 4711, bytes: 70_302 * MIB }]);
    expect(noteKinds(all)).toEqual(['monitor_guessed_header']);
  });
});

const REPORT = (time: string, used: number): string => `
==============NVSMI LOG==============

Timestamp                                 : ${time}
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                           : Disabled
    GPU UUID                              : ${UUID0}
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 521 MiB
        Used                              : ${used} MiB
        Free                              : ${81_038 - used} MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 1 MiB
        Free                              : 131071 MiB
    Utilization
        Gpu                               : 97 %
        Memory                            : 40 %
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            DRAM Uncorrectable            : 3
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 61 C
    GPU Power Readings
        Power Draw                        : 512.25 W
    Clocks
        Graphics                          : 1980 MHz
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : /usr/bin/python3
            Used GPU Memory               : 70302 MiB
GPU 00000000:43:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 4 MiB
        Free                              : 81034 MiB
    Processes                             : None
`;

describe('nvidia-smi -q', () => {
  const text = REPORT('Thu Mar 28 17:53:27 2024', 70_000) + REPORT('Thu Mar 28 17:53:28 2024', 70_100);

  it('reads devices, processes and what is wrong, of several samples', async () => {
    const all = await read(text);
    expect(shortGauges(all).slice(0, 7)).toEqual([
      `0 device_total ${81_559 * MIB}`,
      `0 device_reserved ${521 * MIB}`,
      `0 device_used ${70_000 * MIB}`,
      `0 device_free ${11_038 * MIB}`,
      `0 process_used ${70_302 * MIB}`,
      `1 device_total ${81_559 * MIB}`,
      `1 device_used ${4 * MIB}`,
    ]);
    expect(all.gauges.map(({ metric, bytes }) => `${metric} ${bytes}`)).toContain(`device_used ${70_100 * MIB}`);
    expect(all.gauges[0]!.gpuId).toBe(UUID0);
    expect(all.gauges[4]).toMatchObject({ pid: 4711, process: '/usr/bin/python3' });
    // Without a UUID the bus id names the device.
    expect(all.gauges[6]!.gpuId).toBe('00000000:43:00.0');
    expect(all.gauges[2]!.place.timeUs).toBe(Date.UTC(2024, 2, 28, 17, 53, 27) * 1000);
    expect(all.gauges[2]!.place.line).toBe(text.slice(0, text.indexOf('Used  ')).split('\n').length);
    const values = shortValues(all).filter((value) => value.startsWith('0'));
    expect(values.slice(0, 11)).toEqual([
      '0 gpu.name NVIDIA H100 80GB HBM3',
      '0 gpu.throttle.hw_slowdown Active',
      '0 gpu.throttle.hw_thermal_slowdown Active',
      '0 gpu.utilization 97 %',
      '0 gpu.memory_utilization 40 %',
      '0 gpu.ecc.volatile.dram_uncorrectable 3 count',
      '0 gpu.remapped_rows.uncorrectable 1 count',
      '0 gpu.remapped_rows.pending Yes',
      '0 gpu.temperature 61 °C',
      '0 gpu.power 512.25 W',
      '0 gpu.clock.sm 1980 MHz',
    ]);
    expect(noteKinds(all)).toEqual([]);
  });

  it('gives no index where a report leaves devices out', async () => {
    const all = await read(REPORT('Thu Mar 28 17:53:27 2024', 1).replace(': 2\n', ': 8\n'));
    expect(all.gauges[0]).toMatchObject({ device: undefined, gpuId: UUID0 });
    expect(noteKinds(all)).toEqual(['monitor_no_index']);
  });

  it('leaves a training log that begins with a report to the log parser', () => {
    const log = `${REPORT('Thu Mar 28 17:53:27 2024', 1)}${'[rank0]: iteration 1/ 10 | consumed samples: 1 |\n'.repeat(40)}`;
    expect(claimed(log, 'slurm-1.out')).toBe('log');
    // Longer than what detection sees.
    const long = REPORT('Thu Mar 28 17:53:27 2024', 1).replace(
      '    ECC Errors',
      '    Voltage\n'.repeat(8000).concat('    ECC Errors'),
    );
    expect(claimed(long + 'x'.repeat(2_000_000), 'slurm-1.out')).toBe('log');
    expect(claimed(text, 'memory.txt')).toBe('device-monitor');
  });
});

describe('nvidia-smi -q -x', () => {
  const sample = (used: number): string => `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Fri Aug  4 11:44:30 2023</timestamp>
	<driver_version>535.54.03</driver_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:01:00.0">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<gpu_instance_id>3</gpu_instance_id>
				<fb_memory_usage>
					<total>19968 MiB</total>
					<used>12 MiB</used>
				</fb_memory_usage>
			</mig_device>
		</mig_devices>
		<uuid>${UUID0}</uuid>
		<fb_memory_usage>
			<total>81920 MiB</total>
			<reserved>869 MiB</reserved>
			<used>${used} MiB</used>
			<free>80999 MiB</free>
		</fb_memory_usage>
		<bar1_memory_usage>
			<used>1 MiB</used>
		</bar1_memory_usage>
		<utilization>
			<gpu_util>N/A</gpu_util>
		</utilization>
		<gpu_power_readings>
			<power_draw>67.03 W</power_draw>
		</gpu_power_readings>
		<processes>
			<process_info>
				<pid>4711</pid>
				<type>C</type>
				<process_name>python &lt;3&gt; &amp; more</process_name>
				<used_memory>40 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
`;

  it('reads devices, their instances and processes', async () => {
    const all = await read(sample(50) + sample(51));
    expect(shortGauges(all)).toEqual([
      `${UUID0}/gi3 device_total ${19_968 * MIB}`,
      `${UUID0}/gi3 device_used ${12 * MIB}`,
      `0 device_total ${81_920 * MIB}`,
      `0 device_reserved ${869 * MIB}`,
      `0 device_used ${50 * MIB}`,
      `0 device_free ${80_999 * MIB}`,
      `0 process_used ${40 * MIB}`,
      `${UUID0}/gi3 device_used ${12 * MIB}`,
      `0 device_reserved ${869 * MIB}`,
      `0 device_used ${51 * MIB}`,
      `0 device_free ${80_999 * MIB}`,
      `0 process_used ${40 * MIB}`,
    ]);
    expect(all.gauges[6]).toMatchObject({ pid: 4711, process: 'python <3> & more' });
    expect(shortValues(all)).toEqual([
      '0 gpu.name NVIDIA A100-SXM4-80GB',
      '0 gpu.power 67.03 W',
      '0 gpu.power 67.03 W',
    ]);
    expect(claimed(sample(1), 'nvidia.xml')).toBe('device-monitor');
  });

  it('keeps the rows before a cut', async () => {
    const text = sample(50);
    const all = await read(text.slice(0, text.indexOf('<free>80999') + 9));
    expect(shortGauges(all)).toContain(`- device_used ${50 * MIB}`.replace('-', '0'));
    expect(noteKinds(all)).toContain('monitor_cut');
  });
});

describe('nvidia-smi dmon and pmon', () => {
  it('reads dmon with and without date and time, and with commas', async () => {
    const dated = await read(
      '#Date       Time        gpu   pwr gtemp mtemp    sm   mem    fb  bar1\n' +
        '#YYYYMMDD   HH:MM:SS    Idx     W     C     C     %     %    MB    MB\n' +
        ' 20210102   19:12:31      0    37    19     -     5     1 11651     2\n' +
        ' 20210102   19:12:31      1    38    20     -     6     2 11653     2\n',
    );
    expect(shortGauges(dated)).toEqual([`0 device_used ${11_651 * MIB}`, `1 device_used ${11_653 * MIB}`]);
    expect(dated.gauges[0]).toMatchObject({ unit: 'MB', precisionBytes: MIB / 2 });
    expect(dated.gauges[0]!.place.timeUs).toBe(Date.UTC(2021, 0, 2, 19, 12, 31) * 1000);
    expect(shortValues(dated).slice(0, 4)).toEqual([
      '0 gpu.power 37 W',
      '0 gpu.temperature 19 °C',
      '0 gpu.utilization 5 %',
      '0 gpu.memory_utilization 1 %',
    ]);
    const plain = await read(
      '# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk pviol tviol    fb  bar1\n' +
        '# Idx     W     C     %     %     %     %   MHz   MHz     %  bool    MB    MB\n' +
        '    0   111    83    25     7     0     0  4513  1683     0     0 11651     2\n' +
        '# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk pviol tviol    fb  bar1\n' +
        '    0   111    83    25     7     0     0  4513  1683     0     0 11652     2\n',
    );
    expect(shortGauges(plain)).toEqual([`0 device_used ${11_651 * MIB}`, `0 device_used ${11_652 * MIB}`]);
    expect(plain.gauges[0]!.place.timeUs).toBeNull();
    const commas = await read('#gpu, fb, bar1\n#Idx, MB, MB\n0, 7, 1\n1, 8, 1\n');
    expect(shortGauges(commas)).toEqual([`0 device_used ${7 * MIB}`, `1 device_used ${8 * MIB}`]);
  });

  it('reads pmon, including devices without a process', async () => {
    const text =
      '# gpu        pid  type    fb    sm   mem   enc   dec   command\n' +
      '# Idx          #   C/G    MB     %     %     %     %   name\n' +
      '    0     447153     C  7669     -     -     -     -   python3.9 -u x\n' +
      '    1          -     -     -     -     -     -     -   -              \n';
    const all = await read(text);
    expect(all.gauges).toMatchObject([
      { metric: 'process_used', device: 0, pid: 447_153, process: 'python3.9 -u x', bytes: 7669 * MIB },
    ]);
    expect(claimed(text, 'pmon.log')).toBe('device-monitor');
  });
});

describe('JSON with the names of nvidia-smi', () => {
  const gpustat = {
    hostname: 'compute101',
    query_time: '2018-08-22T23:04:16.644530',
    gpus: [
      {
        index: 0,
        uuid: UUID0,
        name: 'Tesla M40 24GB',
        'temperature.gpu': 57,
        'utilization.gpu': 98,
        'memory.used': 1126,
        'memory.total': 22_939,
        processes: [{ username: 'x', command: 'python', gpu_memory_usage: 1115, pid: 10_758 }],
      },
    ],
  };

  it('reads gpustat as a document and as lines', async () => {
    for (const text of [JSON.stringify(gpustat, null, 4), `${JSON.stringify(gpustat)}\n`]) {
      const all = await read(text);
      expect(shortGauges(all)).toEqual([
        `0 device_used ${1126 * MIB}`,
        `0 device_total ${22_939 * MIB}`,
        `0 process_used ${1115 * MIB}`,
      ]);
      expect(all.gauges[2]).toMatchObject({ pid: 10_758, process: 'python' });
      expect(all.gauges[0]!.place).toMatchObject({
        host: 'compute101',
        timeUs: Date.UTC(2018, 7, 22, 23, 4, 16) * 1000 + 644_530,
      });
      expect(claimed(text, 'gpustat.json')).toBe('device-monitor');
    }
  });

  it('reads lists and lines of samples, and passes a damaged line over', async () => {
    const row = {
      timestamp: '2026/11/20 10:11:12.123',
      index: '1',
      'memory.used [MiB]': '5 MiB',
      'utilization.gpu [%]': 7,
    };
    const list = await read(JSON.stringify([row, row]));
    expect(shortGauges(list)).toEqual([`1 device_used ${5 * MIB}`, `1 device_used ${5 * MIB}`]);
    const lines = await read(
      `${JSON.stringify(row)}\n{"index": 1, "memory.us\n${JSON.stringify({ ...row, timestamp: 1_700_000_000.5 })}\n`,
    );
    expect(lines.gauges.map(({ place }) => [place.line, place.timeUs])).toEqual([
      [1, Date.UTC(2026, 10, 20, 10, 11, 12, 123) * 1000],
      [3, 1_700_000_000_500_000],
    ]);
    expect(noteKinds(lines)).toEqual(['monitor_clocks', 'monitor_foreign']);
  });
});

describe('what is none', () => {
  it.each([
    [
      'a log that prints a query before it trains',
      `${QUERY}${'iteration 1/ 10 | consumed samples: 1 |\n'.repeat(9)}`,
      'slurm-7.out',
      'log',
    ],
    ['a table of somebody else', 'timestamp,loss\n1,2\n', 'x.csv', null],
    ['a table of names', 'index, name\n0, NVIDIA H100\n', 'x.csv', null],
    [
      'a classic table of nvidia-smi',
      '| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |\n',
      'x.log',
      'log',
    ],
    ['JSON of somebody else', '{"index": 1, "memory": 2}', 'x.json', null],
    ['a scrape without DCGM', '# TYPE up gauge\nup 1\n', 'metrics.txt', 'log'],
    ['other XML', '<?xml version="1.0"?>\n<a>nvidia_smi_log</a>', 'x.xml', null],
  ])('%s', (_, content, name, owner) => {
    const claim = claimed(content, name);
    expect(claim === 'device-monitor' ? claim : claim).toBe(owner);
  });
});

describe('hostile input', () => {
  const header = 'index, memory.used [MiB]\n';
  it.each([
    ['negative', '0, -5 MiB'],
    ['not a number', '0, NaN MiB'],
    ['infinite', '0, Infinity MiB'],
    ['huge', '0, 99999999999999999999 MiB'],
    ['huge but a number', '0, 9999999999999999 MiB'],
    ['another unit', '0, 5 parsecs'],
    ['a unit of Object', '0, 5 constructor'],
  ])('%s: left out, with a note', async (_, row) => {
    const all = await read(`${header}0, 1 MiB\n${row}\n0, 2 MiB\n`);
    expect(all.gauges.map(({ value }) => value)).toEqual([1, 2]);
    expect(noteKinds(all)).toContain('monitor_figure');
  });

  it('a million columns, an endless line, zeros, and bytes of all kinds end in rows, notes or one error', async () => {
    const wide = `${header}${'1,'.repeat(1_000_000)}\n0, 3 MiB\n`;
    expect((await read(wide)).gauges.map(({ value }) => value)).toEqual([3]);
    const wideHeader = `index, memory.used${', pstate'.repeat(200_000)}\n0, 3\n`;
    expect((await read(wideHeader)).refused).toBe('MBF2931');
    const endless = `${header}0, 3 MiB\n${'x'.repeat(5_000_000)}`;
    expect((await read(endless)).gauges).toHaveLength(1);
    const holes = Buffer.concat([Buffer.from(QUERY), Buffer.alloc(70_000), Buffer.from('\n'), Buffer.from(QUERY)]);
    expect((await read(holes)).gauges.length).toBeGreaterThan(11);
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167) % 256));
    await read(Buffer.concat([Buffer.from(QUERY), bytes]));
    const deep = `{"memory.used": 1, "index": 0, "x": ${'['.repeat(100_000)}`;
    expect((await read(deep)).refused).toBe('MBF2931');
  });

  it('every prefix of every form is read or refused, never thrown at', async () => {
    const forms = [QUERY, REPORT('Thu Mar 28 17:53:27 2024', 5), '#Entity  FBUSD\nID  MB\nGPU 0   5\n'];
    for (const form of forms) {
      for (let length = 1; length < form.length; length += 17) await read(form.slice(0, length));
    }
  });

  it('a long series is read in bounded memory', async () => {
    const row = Buffer.from(`2026/11/20 10:11:12.123, 0, 5 MiB, 7 MiB, 97 %\n`.repeat(5000));
    const first = Buffer.from('timestamp, index, memory.used [MiB], memory.free [MiB], utilization.gpu [%]\n');
    let left = 60;
    let pending: Buffer = first;
    const source: ByteSource = {
      sizeBytes: undefined,
      read(target, start) {
        if (pending.length === 0 && left-- > 0) pending = row;
        const count = pending.copy(target, start);
        pending = pending.subarray(count);
        return Promise.resolve(count);
      },
    };
    const before = process.memoryUsage().heapUsed;
    let rows = 0;
    let peak = 0;
    const ignore = (): void => {};
    await deviceMonitor.parse(
      source,
      {
        note: ignore,
        incident: ignore,
        attempt: ignore,
        profilerMemory: ignore,
        snapshot: () => Promise.reject(new Error('no snapshot')),
        logRow() {
          rows += 1;
          if (rows % 100_000 === 0) peak = Math.max(peak, process.memoryUsage().heapUsed);
        },
      },
      { name: 'x.csv' },
    );
    expect(rows).toBe(900_000);
    // 14 MB of text and 900,000 rows went through; what lives is a chunk and what the collector has not taken yet.
    expect(peak - before).toBeLessThan(400 * MIB);
  });

  it('a failed source reports its reason', async () => {
    const source: ByteSource = { sizeBytes: 10, read: () => Promise.resolve(0) };
    expect((await collectFrom(deviceMonitor, source, 'x')).refused).toBe('MBF2931');
  });
});
