/** Names of W&B's system monitor: what they mean, in every generation that has written them. */
import { describe, expect, it } from 'vitest';
import { splitSystemLabel, systemGauge } from '../../src/text/scalars/system-metrics.js';

describe('systemGauge', () => {
  it('takes bytes of a device for what NVML says of it', () => {
    const expected = {
      row: 'gauge',
      metric: 'device_used',
      bytes: 83_052_756_992,
      value: 83_052_756_992,
      unit: 'bytes',
      precisionBytes: 0,
      device: 3,
    };
    for (const prefix of ['', 'system.', 'system/']) {
      expect(systemGauge(`${prefix}gpu.3.memoryAllocatedBytes`, 83_052_756_992)).toEqual(expected);
    }
  });

  it('gives no memory to the process that the monitor only copies from the device', () => {
    const copy = systemGauge('gpu.process.3.memoryAllocatedBytes', 83_052_756_992);
    expect(copy).toEqual(systemGauge('gpu.3.memoryAllocatedBytes', 83_052_756_992));
    expect(copy).toMatchObject({ metric: 'device_used' });
  });

  it('leaves percent percent, and does not take the work of the memory controller for memory', () => {
    expect(systemGauge('gpu.0.memoryAllocated', 97.11)).toEqual({
      row: 'value',
      name: 'gpu.memory_used_percent',
      value: 97.11,
      unit: '%',
      device: 0,
    });
    expect(systemGauge('gpu.0.memory', 61)).toMatchObject({ row: 'value', name: 'gpu.memory_activity', unit: '%' });
    for (const name of ['memory', 'memory_percent', 'system.memory_percent']) {
      expect(systemGauge(name, 41.7)).toEqual({ row: 'value', name: 'host.used_percent', value: 41.7, unit: '%' });
    }
  });

  it.each([
    // The names say MB; the monitors divide by 1024 twice.
    ['proc.memory.rssMB', 20_515.82, 'process_rss', Math.round(20_515.82 * 2 ** 20), 0.005 * 2 ** 20],
    ['proc.memory.availableMB', 1024, 'host_free', 2 ** 30, 0.005 * 2 ** 20],
    ['gpu.0.memoryUsed', 79_205, 'device_used', 79_205 * 2 ** 20, 0.005 * 2 ** 20],
    ['gpu.0.memoryFree', 1, 'device_free', 2 ** 20, 0.005 * 2 ** 20],
    ['gpu.0.memoryTotal', 81_559, 'device_total', 81_559 * 2 ** 20, 0.005 * 2 ** 20],
  ])('reads %s in MiB', (tag, value, metric, bytes, precisionBytes) => {
    expect(systemGauge(tag, value)).toMatchObject({ row: 'gauge', metric, bytes, value, unit: 'MiB', precisionBytes });
  });

  it('converts bytes of disks', () => {
    expect(systemGauge('disk./data/x.usageGB', 1.5)).toEqual({
      row: 'value',
      name: 'disk.used[/data/x]',
      value: 1.5 * 2 ** 30,
      unit: 'bytes',
    });
    expect(systemGauge('disk.nvme0n1.in', 2)).toMatchObject({ name: 'disk.read[nvme0n1]', value: 2 ** 21 });
    expect(systemGauge('disk.in', 2)).toMatchObject({ name: 'disk.read', value: 2 ** 21 });
  });

  it('takes labels off', () => {
    expect(systemGauge('system/gpu.0.temp/l:node-1', 63)).toEqual(systemGauge('gpu.0.temp', 63));
    expect(splitSystemLabel('gpu.0.temp/l:node-1/l:writer')).toEqual({ name: 'gpu.0.temp', label: 'node-1' });
    expect(splitSystemLabel('gpu.0.temp')).toEqual({ name: 'gpu.0.temp', label: null });
  });

  it('keeps what it does not know, where the name says that it is of the system', () => {
    expect(systemGauge('system.trn.0.neuroncore_utilization', 5)).toEqual({
      row: 'value',
      name: 'system.trn.0.neuroncore_utilization',
      value: 5,
      unit: null,
    });
    // Percent of NVML, a ratio of DCGM: no unit fits both.
    expect(systemGauge('gpu.0.smActive', 0.8)).toEqual({
      row: 'value',
      name: 'gpu.smActive',
      value: 0.8,
      unit: null,
      device: 0,
    });
  });

  it.each([
    ['loss', 1],
    ['constructor', 1],
    ['gpu.0', 1],
    ['gpu.9999.temp', 1],
    ['gpu.0.memoryAllocatedBytes', Number.NaN],
    ['gpu.0.memoryAllocatedBytes', Number.POSITIVE_INFINITY],
    ['gpu.0.memoryAllocatedBytes', -1],
    ['proc.memory.rssMB', 1e300],
    [`system.${'x'.repeat(100_000)}`, 1],
  ])('gives no row for %s = %s', (tag, value) => {
    expect(systemGauge(tag, value)).toBeNull();
  });
});
