import { DeviceReport } from './device-report.js';
import type { LineReader } from './line-reader.js';
import type { SampleWriter } from './sample-writer.js';

export const REPORT_BEGIN = /^=+NVSMI LOG=+$/;
const DEVICE = /^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)$/;
/** Above the first device. */
const TOP_FIELD = /^(Timestamp|Driver Version|CUDA Version|Attached GPUs|HIC Version) {1,60}: {0,4}(.{0,200})$/;
const FIELD = /^( {4,32})([^:\s](?:[^:]{0,78}[^:\s])?) {0,60}: {0,4}(.{0,4000})$/;
const SECTION = /^( {4,32})([A-Za-z](?:[\w .,/()-]{0,78}))$/;

/** Whether a line can be one of `nvidia-smi -q`. */
export function isReportLine(line: string): boolean {
  return REPORT_BEGIN.test(line) || DEVICE.test(line) || TOP_FIELD.test(line) || SECTION.test(line) || FIELD.test(line);
}

/** Reports of `nvidia-smi -q`, one behind the other with `-l`: sections by indentation, `Name : value` in them. */
export class ReportTextReader implements LineReader {
  private readonly report: DeviceReport;
  private readonly writer: SampleWriter;
  /** Open sections by their indentation. */
  private sections: { readonly indent: number; readonly name: string }[] = [];
  private pid = '';
  private processName = '';

  constructor(writer: SampleWriter) {
    this.writer = writer;
    this.report = new DeviceReport(writer);
  }

  take(text: string, line: number, offset: number, isWhole: boolean): void {
    const trimmed = text.trimEnd();
    if (trimmed === '') return;
    if (!isWhole) {
      this.writer.odd('monitor_cut', line, offset);
      return;
    }
    if (REPORT_BEGIN.test(trimmed)) {
      this.report.begin();
      this.sections = [];
      return;
    }
    const device = DEVICE.exec(trimmed);
    if (device !== null) {
      this.report.addDevice(device[1]!);
      this.sections = [];
      return;
    }
    const top = TOP_FIELD.exec(trimmed);
    if (top !== null) {
      if (top[1] === 'Timestamp') this.report.setTime(top[2]!.trim());
      else if (top[1] === 'Attached GPUs') this.report.setAttached(top[2]!.trim());
      return;
    }
    const field = FIELD.exec(trimmed);
    if (field !== null) {
      const [, indent = '', name = '', value = ''] = field;
      this.leave(indent.length);
      this.field(indent.length, name, value, line, offset);
      return;
    }
    const section = SECTION.exec(trimmed);
    if (section === null) {
      this.writer.odd('monitor_foreign', line, offset);
      return;
    }
    const [, indent = '', name = ''] = section;
    this.leave(indent.length);
    this.sections.push({ indent: indent.length, name });
  }

  end(): void {
    this.report.end();
  }

  private field(indent: number, name: string, value: string, line: number, offset: number): void {
    if (name === 'Process ID') {
      this.pid = value.trim();
      this.processName = '';
      // The fields of the process are one level deeper.
      this.sections.push({ indent, name });
      return;
    }
    if (this.pid !== '' && name === 'Name') this.processName = value.trim();
    else if (this.pid !== '' && name === 'Used GPU Memory') {
      this.report.process(this.pid, this.processName, value.trim(), line, offset);
      this.pid = '';
    } else if (name === 'GPU Instance ID' && this.sections.at(-1)?.name === 'MIG Device') {
      this.report.setInstance(`gi${value.trim()}`);
    } else {
      const names = this.sections.filter((section) => section.name !== 'MIG Device').map((section) => section.name);
      // A field with deeper ones below it: `HW Slowdown : Active`.
      this.report.field([...names, name].join('/'), value.trim(), line, offset);
      this.sections.push({ indent, name });
    }
  }

  /** Closes the sections that a line of this indentation is not in. */
  private leave(indent: number): void {
    while (this.sections.length > 0 && this.sections.at(-1)!.indent >= indent) {
      if (this.sections.pop()!.name === 'MIG Device') this.report.setInstance(null);
    }
  }
}
