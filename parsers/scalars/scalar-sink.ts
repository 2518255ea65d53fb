/** Output of the readers of this folder: figures into rows, W&B's system metrics into gauges. */
import { plainPlace } from '../../src/model/log-rows.js';
import type { RowSink } from '../../src/model/parser.js';
import { FRACTION_BITS, halfUnit } from '../../src/text/scalars/half-unit.js';
import { ScalarRows } from '../../src/text/scalars/scalar-rows.js';
import { systemGauge } from '../../src/text/scalars/system-metrics.js';

export interface RowPlace {
  readonly line: number;
  readonly offset: number;
  readonly step: number | null;
  readonly timeUs: number | null;
}

export class ScalarSink {
  /** Figures that were given on. */
  scalars = 0;
  private readonly sink: RowSink;
  private readonly format: string;
  private readonly rows: ScalarRows;

  constructor(sink: RowSink, form: string, countsFrom: 0 | 1 | undefined) {
    this.sink = sink;
    this.format = `scalars.${form}`;
    const writer = { format: this.format, rank: null, rankOrigin: null, host: null, countsFrom };
    this.rows = new ScalarRows((finding, place) => sink.logRow(finding, place), writer);
  }

  add(tag: string, value: number, place: RowPlace, isFloat32 = false): void {
    this.scalars += 1;
    const { line, offset, step, timeUs } = place;
    if (/^system[./]/.test(tag)) {
      const gauge = systemGauge(tag, value);
      if (gauge !== null) {
        this.sink.logRow(gauge, plainPlace({ line, offset, timeUs, format: this.format }));
        return;
      }
    }
    const precision = isFloat32 ? halfUnit(value, FRACTION_BITS.float) : 0;
    this.rows.add({ tag, value, precision, step, timeUs, ordinal: line, offset });
  }

  /** After the last row. */
  end(): void {
    this.rows.end();
  }
}
