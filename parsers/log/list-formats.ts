import { loadData } from '../../src/knowledge/load-data.js';
import { oomWordings } from '../../src/knowledge/oom-messages.js';
import type { FormatInfo } from '../../src/model/results/format.js';
import type { LogFormat } from './formats/contract.js';
import { LOG_FORMATS } from './formats/index.js';
import { userFormats } from './user-formats.js';

/** Every format of a text log that is read, `own` ones first: figures and settings, then the wordings of failures. */
export function listFormats(own?: string): FormatInfo[] {
  const examples = loadData('log-examples') as Readonly<Record<string, string>>;
  const example = (id: string): string => examples[id] ?? '';
  return [
    ...userFormats(own).map((format) => info(format, format.sample)),
    ...LOG_FORMATS.map((format) => info(format, example(format.id))),
    ...oomWordings().map(({ id, family, versions, source, kind }): FormatInfo => {
      const { name: producer, anchors } = family;
      const title = `failure: ${kind}`;
      const fields = { kind };
      return { id, form: 'message', producer, title, versions, source, anchors, fields, sample: example(id) };
    }),
  ];
}

function info({ id, form, producer, title, versions, source, anchors, fields }: LogFormat, sample: string): FormatInfo {
  return { id, form, producer, title, versions, source, anchors, fields, sample };
}
