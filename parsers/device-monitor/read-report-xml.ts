import { DeviceReport } from './device-report.js';
import type { LineReader } from './line-reader.js';
import type { SampleWriter } from './sample-writer.js';

/**
 * One tag and the text behind it. Declarations begin with no letter and are passed over, so that no entity is ever
 * defined.
 */
const TAG = /<(\/?)([A-Za-z_][\w.-]{0,63})((?:\s[^<>]{0,500})?)>([^<]{0,4096})/g;
const MOST_DEPTH = 32;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Reports of `nvidia-smi -q -x`, one behind the other with `-l`. Each field is on a line of its own. */
export class ReportXmlReader implements LineReader {
  private readonly report: DeviceReport;
  private readonly writer: SampleWriter;
  /** Open elements below `nvidia_smi_log`. */
  private path: string[] = [];
  private isOpen = false;
  private pid = '';
  private processName = '';

  constructor(writer: SampleWriter) {
    this.writer = writer;
    this.report = new DeviceReport(writer);
  }

  take(text: string, line: number, offset: number, isWhole: boolean): void {
    if (!isWhole && !/>\s{0,100}$/.test(text)) this.writer.odd('monitor_cut', line, offset);
    for (const match of text.matchAll(TAG)) {
      const [, close = '', name = '', attributes = '', content = ''] = match;
      if (name === 'nvidia_smi_log') {
        if (close === '') this.report.begin();
        this.isOpen = close === '';
        this.path = [];
      } else if (!this.isOpen) this.writer.odd('monitor_foreign', line, offset);
      else if (close !== '') this.close(name);
      else if (!attributes.endsWith('/')) this.open(name, attributes, content.trim(), line, offset + match.index);
    }
  }

  end(): void {
    if (this.isOpen) this.writer.odd('monitor_cut');
    this.report.end();
  }

  private close(name: string): void {
    const at = this.path.lastIndexOf(name);
    if (at >= 0) this.path.length = at;
    if (name === 'mig_device') this.report.setInstance(null);
  }

  private open(name: string, attributes: string, content: string, line: number, offset: number): void {
    if (this.path.length >= MOST_DEPTH) return;
    this.path.push(name);
    if (this.path[0] !== 'gpu') {
      if (name === 'timestamp') this.report.setTime(content);
      else if (name === 'attached_gpus') this.report.setAttached(content);
      return;
    }
    if (this.path.length === 1) {
      this.report.addDevice(/\sid="([^"]{1,80})"/.exec(attributes)?.[1] ?? '');
      return;
    }
    if (content === '') return;
    const text = unescaped(content);
    if (this.path.includes('process_info')) {
      if (name === 'pid') this.pid = text;
      else if (name === 'process_name') this.processName = text;
      else if (name === 'used_memory') this.report.process(this.pid, this.processName, text, line, offset);
      return;
    }
    const mig = this.path.indexOf('mig_device');
    if (mig >= 0 && name === 'gpu_instance_id') this.report.setInstance(`gi${text}`);
    else this.report.field(this.path.slice(mig >= 0 ? mig + 1 : 1).join('/'), text, line, offset);
  }
}

function unescaped(text: string): string {
  return text.replace(/&([a-z]{2,4});/g, (whole, name: string) =>
    Object.hasOwn(ENTITIES, name) ? ENTITIES[name]! : whole,
  );
}
