import { type GaugeFinding, type LogPlace, plainPlace, type ValueFinding } from '../../src/model/log-rows.js';
import type { RowSink } from '../../src/model/parser.js';
import { type ClockTime, parseClockTime } from '../../src/text/clock-text.js';
import { gaugeFigure } from '../../src/text/gauge-figure.js';
import { Oddities } from '../../src/text/oddities.js';
import { plainIncident } from '../../src/text/plain-incident.js';
import { kindOfXid } from '../../src/text/program-xids.js';
import { copyOf, utf8 } from '../../src/text/text-lines.js';
import { GOOD_WORDS, type Meaning } from './meanings.js';

const MIB = 1024 ** 2;
/** NVML counts bytes; nvidia-smi and DCGM divide by 1024 twice and called that MB before they called it MiB. */
const UNIT_BYTES: Readonly<Record<string, number>> = { MiB: MIB, MB: MIB, KiB: 1024, GiB: 1024 ** 3, B: 1 };
const NUMBER = /^-?\d{1,16}(?:\.\d{0,9})?(?:[eE][-+]?\d{1,3})?$/;
/** Placeholders for a figure that the device does not have. */
const ABSENT =
  /^(?:\[?(?:N\/A|Not Supported|Not Available|Requested functionality has been deprecated|No data)\]?|-|)$/i;
/** Placeholders for a figure of a lost device. Upstream: NVML `nvmlErrorString`. */
const LOST = /\b(?:GPU is lost|GPU requires reset)\b/i;
/** Devices, and texts, that are remembered; a node has 16 devices with a dozen words each. */
const MOST_REMEMBERED = 8192;
/** A lost device is reported at every sample. */
const MOST_INCIDENTS = 256;
const MOST_TEXT = 512;

/** Which device a sample is of. */
export interface Device {
  readonly index: number | null;
  /** UUID, else PCI bus id. */
  readonly gpuId: string | undefined;
}

export interface Process {
  readonly pid: number | undefined;
  readonly name: string | undefined;
}

export const NO_PROCESS: Process = { pid: undefined, name: undefined };

/** Turns fields of samples into rows, and counts what it cannot. One per file. */
export class SampleWriter {
  /** Rows that carried a figure. */
  samples = 0;
  clock: 'printed' | 'utc' | undefined;
  private readonly sink: RowSink;
  private readonly format: string;
  private host: string | null = null;
  private line = 1;
  private offset = 0;
  private time: ClockTime | null = null;
  private device: Device = { index: null, gpuId: undefined };
  private place: LogPlace | null = null;
  /** Last values of each device, by {@link deviceKey}. */
  private readonly remembered = new Map<string, Map<string, string>>();
  /** That of the device at hand; looked up when it is asked for. */
  private memory: Map<string, string> | null = null;
  private readonly texts = new Map<string, string>();
  private readonly reported = new Set<string>();
  private readonly oddities = new Oddities();
  private hasBothClocks = false;
  private lastTimeText = '';
  /** Of {@link timeOf}. */
  lastTime: ClockTime | null = null;

  constructor(sink: RowSink, format: string) {
    this.sink = sink;
    this.format = format;
  }

  /** The record that the next fields belong to. */
  at(line: number, offset: number): void {
    this.line = line;
    this.offset = offset;
    this.place = null;
  }

  setTime(time: ClockTime | null): void {
    this.time = time;
    this.place = null;
    if (time === null) return;
    const clock = time.isUtc ? 'utc' : 'printed';
    if (this.clock !== undefined && this.clock !== clock) this.hasBothClocks = true;
    this.clock = clock;
  }

  /** A time as printed; rows of several devices share one often enough. */
  timeOf(text: string): ClockTime | null {
    if (text !== this.lastTimeText) {
      this.lastTimeText = text;
      this.lastTime = parseClockTime(text);
    }
    return this.lastTime;
  }

  setHost(host: string | null): void {
    this.host = host;
    this.place = null;
    this.memory = null;
  }

  setDevice(device: Device): void {
    this.device = device;
    this.place = null;
    this.memory = null;
  }

  /** A field as printed (one character per byte), with or without its unit; `unit` is the one in the header. */
  field(meaning: Meaning, raw: string, unit: string | undefined, process: Process = NO_PROCESS): void {
    const text = raw.trim();
    switch (meaning.kind) {
      case 'gauge': {
        const space = text.indexOf(' ');
        const number = space < 0 ? text : text.slice(0, space);
        const printedUnit = (space < 0 ? unit : text.slice(space + 1)) ?? 'MiB';
        const unitBytes = Object.hasOwn(UNIT_BYTES, printedUnit) ? UNIT_BYTES[printedUnit]! : undefined;
        const { index, gpuId } = this.device;
        const finding =
          unitBytes === undefined
            ? null
            : gaugeFigure(meaning.metric, number, this.text(printedUnit), unitBytes, {
                device: index ?? undefined,
                gpuId,
                pid: process.pid,
                process: process.name,
              });
        if (finding === null) this.absent(text);
        // The device's own size does not change between samples, or only where it was replaced.
        else if (meaning.metric !== 'device_total' || this.isNew('device_total', String(finding.bytes)))
          this.emit(finding);
        return;
      }
      case 'series': {
        const value = leadingNumber(text);
        if (value === null) this.absent(text);
        else
          this.emit({
            row: 'value',
            name: meaning.name,
            value,
            unit: meaning.unit,
            device: this.device.index ?? undefined,
          });
        return;
      }
      case 'change':
        this.change(meaning.name, meaning.unit, text);
        return;
      case 'xid': {
        const xid = leadingNumber(text);
        if (xid === null) this.absent(text);
        else this.xid(xid, `Xid ${xid}`);
        return;
      }
      default:
    }
  }

  /**
   * The last Xid a device reported; it stays until the next one, so that only a change is one. One that is there at the
   * first sample may be older than the run.
   */
  xid(xid: number, text: string, key = 'xid'): void {
    if (!Number.isInteger(xid) || xid < 0 || xid > 10_000) return;
    if (!this.isNew(key, String(xid)) || xid === 0) return;
    this.incident(kindOfXid(xid), 'dcgm.xid', text);
  }

  incident(kind: 'other' | 'hardware', grammar: string, text: string): void {
    const key = `${this.deviceKey()} ${text}`;
    if (this.reported.size >= MOST_INCIDENTS || this.reported.has(key)) return;
    this.reported.add(key);
    const { line, offset, host } = this;
    const timeUs = this.time?.us ?? null;
    this.sink.incident(plainIncident({ kind, grammar, text, line, offset, host, device: this.device.index, timeUs }));
  }

  /** Counts what is odd; {@link end} makes one note of each kind. */
  odd(kind: string, line = this.line, offset = this.offset): void {
    this.oddities.add(kind, line, offset);
  }

  /** A text of one character a byte as it was meant; equal ones are the same string, so that rows share it. */
  text(raw: string): string {
    const known = this.texts.get(raw);
    if (known !== undefined) return known;
    const text = utf8(raw.length > MOST_TEXT ? raw.slice(0, MOST_TEXT) : raw);
    if (this.texts.size >= MOST_REMEMBERED) this.texts.clear();
    // The key must be a copy too: a piece of a line keeps its chunk.
    this.texts.set(copyOf(raw), text);
    return text;
  }

  end(): void {
    if (this.hasBothClocks) {
      const text = 'some times name their zone and others do not; all are taken as printed';
      this.sink.note({ kind: 'monitor_clocks', severity: 'warning', text });
      this.clock = 'printed';
    }
    for (const note of this.oddities.notes()) this.sink.note(note);
  }

  private change(name: string, unit: string | null, text: string): void {
    const device = this.device.index ?? undefined;
    if (unit !== null) {
      const value = leadingNumber(text);
      if (value === null) this.absent(text);
      else if (this.isNew(name, String(value), '0')) this.emit({ row: 'value', name, value, unit, device });
      return;
    }
    if (ABSENT.test(text)) return;
    const word = this.text(text);
    if (this.isNew(name, word, GOOD_WORDS.has(word) ? word : undefined)) {
      this.emit({ row: 'value', name, value: null, unit: null, text: word, device });
    }
  }

  /**
   * Whether a device's field differs from its last value. `text` is kept: pass a copy, not a slice of a line. If
   * `quiet` is the first value, it is not emitted.
   */
  private isNew(name: string, text: string, quiet?: string): boolean {
    this.memory ??= this.memoryOf(this.deviceKey());
    const last = this.memory.get(name);
    if (last === text) return false;
    if (this.memory.size >= MOST_REMEMBERED) this.memory.clear();
    this.memory.set(name, text);
    return last !== undefined || text !== quiet;
  }

  private memoryOf(key: string): Map<string, string> {
    let memory = this.remembered.get(key);
    if (memory === undefined) {
      if (this.remembered.size >= MOST_REMEMBERED) this.remembered.clear();
      memory = new Map();
      this.remembered.set(key, memory);
    }
    return memory;
  }

  private deviceKey(): string {
    return `${this.host ?? ''} ${this.device.index ?? ''} ${this.device.gpuId ?? ''}`;
  }

  private absent(text: string): void {
    if (LOST.test(text)) this.incident('hardware', 'nvidia-smi.gpu-lost', this.text(text));
    else this.odd(ABSENT.test(text) ? 'monitor_absent' : 'monitor_figure');
  }

  private emit(finding: GaugeFinding | ValueFinding): void {
    this.samples += 1;
    if (this.time === null) this.odd('monitor_no_time');
    const { line, offset, host, format } = this;
    this.place ??= plainPlace({ line, offset, host, device: this.device.index, timeUs: this.time?.us ?? null, format });
    this.sink.logRow(finding, this.place);
  }
}

/** The number a figure begins with, whatever its unit; null where there is none. */
export function leadingNumber(text: string): number | null {
  const space = text.indexOf(' ');
  const number = space < 0 ? text : text.slice(0, space);
  return NUMBER.test(number) ? Number(number) : null;
}
