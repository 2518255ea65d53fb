/** Whether this installation works, and which files here it can read. */
import type { DoctorCheck, DoctorResult } from '../../model/results/doctor.js';
import {
  as,
  column,
  type Document,
  document,
  items,
  mark,
  paragraph,
  type Tone,
  t,
  table,
} from '../document/document.js';

const TONES: Readonly<Record<DoctorCheck['status'], Tone>> = { ok: 'good', warning: 'unsure', failed: 'bad' };
const MOST_UNREAD = 10;

export function doctorDocument({ schema, version, checks, files, formats, unread }: DoctorResult): Document {
  const { examined, all } = files;
  const more = unread.length - MOST_UNREAD;
  return document(
    schema,
    t`mbforensics ${as('version', version)}`,
    table(checks, [column('status', ({ status }) => mark(status, TONES[status])), 'name', 'text'], {
      key: 'checks',
      isBare: true,
    }),
    paragraph(
      t`${examined < all ? t`the first ${examined} of ` : ''}${all} files here; ${formats.length === 0 ? 'none can be read' : 'these can be read:'}`,
    ),
    table(formats, ['format', 'files', column('bytes', (one) => one.bytes, { title: 'size' }), 'example'], {
      key: 'formats',
    }),
    items(
      unread.slice(0, MOST_UNREAD).map(({ text }) => text),
      { key: 'unread' },
    ),
    more > 0 && paragraph(t`${more} more files cannot be read (--json=full lists all)`),
  );
}
