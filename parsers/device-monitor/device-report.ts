import { parseClockTime } from '../../src/text/clock-text.js';
import { fieldsOf } from './meanings.js';
import { wholeNumber } from './read-csv.js';
import type { SampleWriter } from './sample-writer.js';

const REPORT_FIELDS = fieldsOf('report');
/** Fields held until their report ends: 16 devices with 30 fields and some processes each. */
const MOST_HELD = 8192;

interface ReportDevice {
  /** Place in the list of this report. */
  readonly ordinal: number;
  readonly busId: string;
  /** Printed somewhere after the bus id, or not at all. */
  uuid: string | undefined;
}

interface Held {
  readonly device: ReportDevice;
  /** Of an instance of a divided device, which has memory of its own. */
  readonly instance: string | null;
  readonly path: string;
  readonly text: string;
  readonly line: number;
  readonly offset: number;
  readonly pid?: number | undefined;
  readonly process?: string | undefined;
}

/**
 * A report of `nvidia-smi -q`, as text or XML, while it is read. It lists devices by bus id. Their position is the
 * index only if all attached devices are listed (`-i` omits some); this is known at the end of the report.
 */
export class DeviceReport {
  private readonly writer: SampleWriter;
  private held: Held[] = [];
  private time = '';
  private attached: number | null = null;
  private devices = 0;
  private device: ReportDevice | null = null;
  private instance: string | null = null;
  private isComplete = true;

  constructor(writer: SampleWriter) {
    this.writer = writer;
  }

  /** A report begins; the one before ends. */
  begin(): void {
    this.flush();
    this.time = '';
    this.attached = null;
    this.devices = 0;
    this.device = null;
    this.isComplete = true;
  }

  setTime(text: string): void {
    this.time = text;
  }

  setAttached(text: string): void {
    this.attached = wholeNumber(text);
  }

  addDevice(busId: string): void {
    this.device = { ordinal: this.devices, busId, uuid: undefined };
    this.instance = null;
    this.devices += 1;
  }

  /** Fields that follow are those of an instance of the device; null: of the device again. */
  setInstance(id: string | null): void {
    this.instance = id;
  }

  /** `path`: section and name, or elements, joined by `/`. */
  field(path: string, text: string, line: number, offset: number): void {
    const { device, instance } = this;
    const meaning = REPORT_FIELDS.get(path);
    if (device === null || meaning === undefined) return;
    if (meaning.kind === 'uuid') {
      device.uuid = text;
      return;
    }
    this.hold({ device, instance, path, text, line, offset });
  }

  process(pid: string, name: string, used: string, line: number, offset: number): void {
    const { device, instance } = this;
    if (device === null) return;
    const held = { device, instance, path: 'process', text: used, line, offset, process: this.writer.text(name) };
    this.hold({ ...held, pid: wholeNumber(pid) ?? undefined });
  }

  end(): void {
    this.flush();
  }

  private hold(held: Held): void {
    this.held.push(held);
    if (this.held.length < MOST_HELD) return;
    this.isComplete = false;
    this.flush();
  }

  private flush(): void {
    const { writer } = this;
    const isIndex = this.isComplete && this.devices > 0 && this.devices === this.attached;
    if (!isIndex && this.held.length > 0) writer.odd('monitor_no_index', this.held[0]!.line, this.held[0]!.offset);
    writer.setTime(parseClockTime(this.time));
    for (const { device, instance, path, text, line, offset, pid, process } of this.held) {
      const gpuId = writer.text(device.uuid ?? device.busId);
      writer.at(line, offset);
      writer.setDevice(
        instance === null
          ? { index: isIndex ? device.ordinal : null, gpuId }
          : { index: null, gpuId: writer.text(`${gpuId}/${instance}`) },
      );
      if (path === 'process') {
        writer.field({ kind: 'gauge', metric: 'process_used' }, text, undefined, { pid, name: process });
      } else writer.field(REPORT_FIELDS.get(path)!, text, undefined);
    }
    this.held = [];
  }
}
