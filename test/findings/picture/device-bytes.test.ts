/** Columns of a device survive their way through bytes, and cut bytes are an error. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteSink, encodeDevice, writeColumn } from '../../../src/findings/picture/encode-device.js';
import { OPEN_SEQ } from '../../../src/model/picture/levels.js';
import type { DeviceColumns, PageDevice } from '../../../src/model/picture/page-data.js';
import { decodeDevice, readColumn } from '../../../src/report/page/decode-device.js';

describe('columns of varints', () => {
  it('hold every integer below 2^53', () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeInteger()), (values) => {
        // Differences of the extremes need 2^54.
        const halves = values.map((value) => Math.trunc(value / 4));
        const sink = new ByteSink();
        writeColumn(sink, halves);
        const read = readColumn({ bytes: sink.result(), at: 0 }, halves.length);
        expect([...read]).toEqual(halves.map((value) => value + 0));
      }),
    );
  });

  it('are smaller than four bytes a value where values change little', () => {
    const sink = new ByteSink();
    writeColumn(sink, [1_000_000, 1_000_001, 1_000_000, 999_990]);
    expect(sink.result().length).toBe(6);
  });
});

const LEVEL = {
  ...{ from: 5, to: 8, columns: 3, name: 'whole trace' },
  at: Float64Array.of(4, 6, 7),
  active: Float64Array.of(1024, 4096, 512),
  pending: Float64Array.of(0, 512, 0),
  reserved: Float64Array.of(8192, 8192, 8192),
  privateReserved: Float64Array.of(0, 0, 1024),
  privateActive: Float64Array.of(0, 0, 512),
  activeLeast: Float64Array.of(512, 0, 512),
  reservedMost: Float64Array.of(8192, 16384, 8192),
  components: [Float64Array.of(1024, 2048, 0), Float64Array.of(0, 2048, 512)],
  startUs: Float64Array.of(0, 12, 900),
};

const COLUMNS: DeviceColumns = {
  levels: [LEVEL],
  blocks: {
    count: 3,
    from: Int32Array.of(-1, 5, 6),
    to: Int32Array.of(OPEN_SEQ, 7, OPEN_SEQ),
    pending: Int32Array.of(OPEN_SEQ, 6, OPEN_SEQ),
    bytes: Float64Array.of(512, 2048, 1024),
    component: Uint8Array.of(0, 1, 1),
    isPrivate: Uint8Array.of(0, 0, 1),
    place: Float64Array.of(0, 512, 2 ** 40),
    stack: Int32Array.of(-1, 0, 1),
  },
  segments: {
    count: 2,
    from: Int32Array.of(-1, 6),
    to: Int32Array.of(OPEN_SEQ, 8),
    bytes: Float64Array.of(8192, 8192),
    isPrivate: Uint8Array.of(0, 1),
    isExpandable: Uint8Array.of(1, 0),
    isSmall: Uint8Array.of(0, 1),
    place: Float64Array.of(0, 8192),
    stream: Float64Array.of(-1, 2 ** 45),
  },
  bands: [
    { place: 0, bytes: 8192, address: 0x7f00_0000_0000 },
    { place: 8192, bytes: 512, address: 0x7f10_0000_0000 },
  ],
  stacks: [[0, 1], [], [1]],
  frames: ['forward é model.py:1', '</script>'],
};

const PAGE = {
  unitBytes: 512,
  components: ['parameter', 'activation'],
  levels: [{ from: 5, to: 8, columns: 3, name: 'whole trace' }],
  ...{ blocks: 3, segments: 2, bands: 2, stacks: 3 },
} as unknown as PageDevice;

describe('bytes of a device', () => {
  it('are what they were made of', () => {
    expect(decodeDevice(encodeDevice(COLUMNS, 512), PAGE)).toEqual(COLUMNS);
  });

  it('are refused where they are cut', () => {
    const bytes = encodeDevice(COLUMNS, 512);
    for (let length = 1; length < bytes.length; length += 1)
      expect(() => decodeDevice(bytes.subarray(0, length), PAGE), `${length} bytes`).toThrow();
  });
});
