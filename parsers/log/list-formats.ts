import { OOM_MESSAGES } from '../../src/knowledge/oom-messages.js';
import type { FormatInfo } from '../../src/model/format-results.js';
import { LOG_FORMATS } from './formats/index.js';

/** Every format of a text log this version reads: figures and settings first, then the wordings of failures. */
export function listFormats(): FormatInfo[] {
  return [
    ...LOG_FORMATS.map(({ id, form, producer, title, versions, source, anchors, fields, samples }): FormatInfo => {
      const [sample] = samples;
      const text = sample === undefined ? '' : 'text' in sample ? sample.text : sample.lines.slice(0, 4).join('\n');
      return { id, form, producer, title, versions, source, anchors, fields, sample: text };
    }),
    ...OOM_MESSAGES.map(({ id, family, versions, source, kind, samples }): FormatInfo => {
      const sample = samples[0]?.text ?? '';
      const fields = { kind };
      const title = `failure: ${kind}`;
      return {
        id,
        form: 'message',
        producer: family.name,
        title,
        versions,
        source,
        anchors: family.anchors,
        fields,
        sample,
      };
    }),
  ];
}
