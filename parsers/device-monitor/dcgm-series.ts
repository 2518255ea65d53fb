import { kindOfXid } from '../../src/text/program-xids.js';
import { fieldsOf } from './meanings.js';
import type { SampleWriter } from './sample-writer.js';

const DCGM_FIELDS = fieldsOf('dcgm');
/** Labels that name the node, the exporter's own first; the others are added by the scraper. */
const HOST_LABELS = ['Hostname', 'node', 'kubernetes_node', 'exported_hostname', 'instance'];
/**
 * Errors counted in a window before each scrape, by Xid. Upstream: dcgm-exporter
 * `internal/pkg/collector/xid_collector.go`.
 */
const XID_COUNT = 'DCGM_EXP_XID_ERRORS_COUNT';

/** Whether a series is one that is read. */
export function isDcgmSeries(name: string): boolean {
  return DCGM_FIELDS.has(name) || name === XID_COUNT;
}

/** Sets the device of the samples that follow. `labels` as dcgm-exporter sets them, one character per byte. */
export function setDevice(writer: SampleWriter, labels: ReadonlyMap<string, string>): void {
  const host = HOST_LABELS.map((name) => labels.get(name)).find((value) => value !== undefined && value !== '');
  writer.setHost(host === undefined ? null : writer.text(host.replace(/:\d{1,5}$/, '')));
  const id = labels.get('UUID') ?? labels.get('uuid') ?? labels.get('pci_bus_id');
  const gpuId = id === undefined || id === '' ? undefined : id;
  const instance = labels.get('GPU_I_ID');
  if (instance !== undefined && instance !== '') {
    writer.setDevice({ index: null, gpuId: writer.text(`${gpuId ?? 'GPU'}/gi${instance}`) });
    return;
  }
  const index = labels.get('gpu') ?? '';
  writer.setDevice({
    index: /^\d{1,5}$/.test(index) ? Number(index) : null,
    gpuId: gpuId === undefined ? undefined : writer.text(gpuId),
  });
}

/** Writes the text fields of a device that are in its labels, except its name. */
export function describeDevice(writer: SampleWriter, labels: ReadonlyMap<string, string>): void {
  for (const [label, name] of [
    ['modelName', 'gpu.name'],
    ['pod', 'gpu.pod'],
    ['exported_pod', 'gpu.pod'],
    ['DCGM_FI_DRIVER_VERSION', 'version.driver'],
  ] as const) {
    const word = labels.get(label);
    if (word !== undefined && word !== '') writer.field({ kind: 'change', name, unit: null }, word, undefined);
  }
}

/** One sample of a series. `text`: the record's own words, for an incident. */
export function sample(
  writer: SampleWriter,
  name: string,
  labels: ReadonlyMap<string, string>,
  value: string,
  text: string,
): void {
  if (name === XID_COUNT) {
    const xid = Number(labels.get('xid') ?? labels.get('err_code') ?? Number.NaN);
    if (Number.isInteger(xid) && xid > 0 && Number(value) > 0) {
      writer.incident(kindOfXid(xid), 'dcgm.xid-count', writer.text(text));
    }
    return;
  }
  const meaning = DCGM_FIELDS.get(name);
  if (meaning === undefined) return;
  if (meaning.kind === 'xid') {
    const code = labels.get('err_code');
    // Newer exporters put the code into a label; the value is the same, or only a flag.
    const xid = Number(code !== undefined && /^\d{1,5}$/.test(code) ? code : value);
    writer.xid(Number(value) === 0 ? 0 : xid, writer.text(text), `xid ${code ?? ''}`);
    return;
  }
  // Prometheus writes numbers as Go does: `3.9e+04`.
  const plain = /e/i.test(value) && Number.isFinite(Number(value)) ? String(Number(value)) : value;
  writer.field(meaning, plain, 'MiB');
}
