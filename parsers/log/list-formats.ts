import { loadData } from '../../src/knowledge/load-data.js';
import { oomWordings } from '../../src/knowledge/oom-messages.js';
import type { FormatInfo } from '../../src/model/results/format.js';
import { LOG_FORMATS } from './formats/index.js';

/** Every format of a text log this version reads: figures and settings first, then the wordings of failures. */
export function listFormats(): FormatInfo[] {
  const examples = loadData('log-examples') as Readonly<Record<string, string>>;
  const example = (id: string): string => examples[id] ?? '';
  return [
    ...LOG_FORMATS.map(({ id, form, producer, title, versions, source, anchors, fields }): FormatInfo => {
      return { id, form, producer, title, versions, source, anchors, fields, sample: example(id) };
    }),
    ...oomWordings().map(({ id, family, versions, source, kind }): FormatInfo => {
      const { name: producer, anchors } = family;
      const title = `failure: ${kind}`;
      const fields = { kind };
      return { id, form: 'message', producer, title, versions, source, anchors, fields, sample: example(id) };
    }),
  ];
}
