import { describe, expect, it } from 'vitest';
import { clockShift as findShift } from '../../../src/derive/outside/clock-shift.js';
import {
  busNumber,
  deviceKey,
  hostOfMonitor,
  type MatchQuestion,
  matchDevices,
  sameHost,
} from '../../../src/derive/outside/match-devices.js';
import { worded } from '../../../src/report/words/worded.js';

const clockShift = (question: Parameters<typeof findShift>[0]) => worded(findShift(question));

const monitor = (device: number | null, host: string | null = null, path = 'gpu.csv', gpu: string | null = null) => ({
  host,
  device,
  gpu,
  display_path: path,
});
type Place = MatchQuestion['places'][number];
const place = (rank: number | null, rest: Partial<Place>): Place => ({
  ...{ rank, host: null, pid: null, device: null, nccl: null, ...rest },
});
const question = (rest: Partial<MatchQuestion>): MatchQuestion => ({
  ...{ monitors: [], processes: [], places: [], ranks: [], worldSize: null, visibleDevices: null, ...rest },
});
const ranksOf = (asked: MatchQuestion) =>
  asked.monitors.map((one) => matchDevices(asked).get(deviceKey(one))?.rank ?? null);
const joined = (rest: Partial<MatchQuestion>) => ranksOf(question(rest));

describe('a device and its rank', () => {
  it('are joined by a pid that both sides name', () => {
    const asked = question({
      monitors: [monitor(0), monitor(1)],
      ranks: [4, 5],
      worldSize: 64,
      places: [place(5, { pid: 4711 })],
      processes: [
        { host: null, device: 0, gpu: null, pid: 99 },
        { host: null, device: 0, gpu: null, pid: 4711 },
      ],
    });
    expect(ranksOf(asked)).toEqual([5, null]);
    expect(matchDevices(asked).get(deviceKey(asked.monitors[0]!))).toMatchObject({ pid: 4711 });
  });

  it("are joined by NCCL's lines of the communicator of all ranks: index, or bus", () => {
    const words = (rank: number, text: string) => place(rank, { nccl: `rank ${rank} of 8, ${text} commId 0xabc` });
    const [zero, one] = [words(0, 'nvmlDev 1 busId 1b000'), words(1, 'nvmlDev 0 busId 4c000')];
    const monitors = [monitor(0), monitor(1)];
    expect(joined({ monitors, ranks: [0, 1], worldSize: 8, places: [zero, one] })).toEqual([1, 0]);
    const byBus = [monitor(null, null, 'gpu.csv', '00000000:4C:00.0')];
    expect(joined({ monitors: byBus, ranks: [1], worldSize: 8, places: [one] })).toEqual([1]);
    // A line without a prefix names the rank itself.
    const bare = { monitors: [monitor(0)], places: [{ ...one, rank: null }] };
    expect(joined({ ...bare, ranks: [1], worldSize: 8 })).toEqual([1]);
    expect(joined({ ...bare, ranks: [3, 4], worldSize: null })).toEqual([null]);
    // Of a smaller communicator the rank is not the global one.
    const smaller = [words(3, 'nvmlDev 1 busId 1b000')];
    expect(joined({ monitors, ranks: [], worldSize: 64, places: smaller })).toEqual([null, null]);
  });

  it('are joined in order on one node, and along CUDA_VISIBLE_DEVICES', () => {
    const monitors = [0, 1, 2, 3].map((device) => monitor(device));
    const ranks = [0, 1, 2, 3];
    expect(joined({ monitors, ranks, worldSize: 4 })).toEqual([0, 1, 2, 3]);
    expect(joined({ monitors, ranks: [0, 1], worldSize: 2, visibleDevices: '3,1' })).toEqual([null, 1, null, 0]);
  });

  it('are joined where each is the only one, also by a device without a number', () => {
    const monitors = [monitor(null, null, 'gpu.csv', '00000000:1B:00.0')];
    expect(joined({ monitors, ranks: [5] })).toEqual([5]);
    expect(joined({ monitors, ranks: [5], worldSize: 8 })).toEqual([null]);
    expect(joined({ monitors, ranks: [5, 6] })).toEqual([null]);
  });

  it('are joined on several nodes by the hosts of the ranks, and not without', () => {
    const monitors = [0, 1].flatMap((node) => [0, 1].map((device) => monitor(device, `node-${node}`)));
    const places = [0, 1, 2, 3].map((rank) => place(rank, { host: `node-${rank < 2 ? 0 : 1}.cluster` }));
    const ranks = [0, 1, 2, 3];
    expect(joined({ monitors, ranks, worldSize: 4, places })).toEqual([0, 1, 2, 3]);
    expect(joined({ monitors, ranks, worldSize: 4 })).toEqual([null, null, null, null]);
    // One monitored node of two: which one is not known.
    expect(joined({ monitors: monitors.slice(0, 2), ranks, worldSize: 4 })).toEqual([null, null]);
  });

  it('are joined by the host that the name of the file holds', () => {
    const places = [0, 1, 2, 3].map((rank) => place(rank, { host: `gpu-${rank < 2 ? '017' : '018'}` }));
    const monitors = [0, 1].map((device) => monitor(device, null, 'metrics/nvidia-smi_gpu-018.csv'));
    expect(joined({ monitors, ranks: [0, 1, 2, 3], worldSize: 4, places })).toEqual([2, 3]);
    const hosts = ['gpu-01', 'gpu-017'];
    expect(hostOfMonitor(monitor(0, null, 'gpu-017.csv'), hosts)).toBe('gpu-017');
    expect(hostOfMonitor(monitor(0, null, 'smi.csv'), hosts)).toBeNull();
  });

  it('knows buses and hosts by all their spellings', () => {
    const spellings = ['00000000:1B:00.0', '0000:1b:00.0', '1b:00.0', '1b000'];
    expect(new Set(spellings.map(busNumber)).size).toBe(1);
    expect(busNumber('GPU-00000000-1111-2222-3333-444444444444')).toBeNull();
    expect(sameHost('node17', 'NODE17.cluster.local')).toBe(true);
    expect(sameHost('node17', 'node1')).toBe(false);
    expect(sameHost('', '')).toBe(false);
  });
});

describe('the printed clock next to UTC', () => {
  const pair = (kind: string, minutes: number, pairs = 5) => ({
    ...{ kind, pairs, shift_us: minutes * 60_000_000, spread_us: 0 },
  });
  const both = new Set(['printed', 'utc']);

  it('is whole quarters of an hour off, by what is in both', () => {
    expect(clockShift({ pairs: [pair('iteration', -120.02)], clocks: both, given: undefined })).toEqual({
      shift_us: -120 * 60_000_000,
      is_needed: true,
      origin: 'printed clocks are UTC+02:00, by 5 iterations that are in both',
    });
    expect(clockShift({ pairs: [pair('failure', 210, 1)], clocks: both, given: undefined }).origin).toBe(
      'printed clocks are UTC−03:30, by one failure that is in both',
    );
  });

  it('is not known where nothing is in both, or the difference is not a time zone', () => {
    expect(clockShift({ pairs: [], clocks: both, given: undefined }).shift_us).toBeNull();
    expect(clockShift({ pairs: [pair('iteration', 37)], clocks: both, given: undefined }).shift_us).toBeNull();
    // The next pair may do.
    expect(
      clockShift({ pairs: [pair('iteration', 37), pair('failure', 60)], clocks: both, given: undefined }).shift_us,
    ).toBe(3_600_000_000);
  });

  it('needs no shift where all clocks are alike, and is what the user says', () => {
    expect(clockShift({ pairs: [], clocks: new Set(['utc']), given: undefined }).shift_us).toBe(0);
    expect(clockShift({ pairs: [], clocks: new Set(['printed']), given: undefined }).shift_us).toBeNull();
    expect(clockShift({ pairs: [pair('iteration', 60)], clocks: both, given: -7_200_000_000 })).toEqual({
      shift_us: -7_200_000_000,
      is_needed: true,
      origin: 'given: printed clocks are UTC+02:00',
    });
  });
});
