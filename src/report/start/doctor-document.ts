/** Whether this installation works, and which files here it can read. */
import type { DoctorCheck, DoctorResult } from '../../model/results/doctor.js';
import * as d from '../document/document.js';

const TONES: Readonly<Record<DoctorCheck['status'], d.Tone>> = { ok: 'good', warning: 'unsure', failed: 'bad' };
const MOST_UNREAD = 10;

export function doctorDocument({ schema, version, checks, files, formats, unread }: DoctorResult): d.Document {
  const { examined, all } = files;
  const more = unread.length - MOST_UNREAD;
  return d.document(
    schema,
    d.t`mbforensics ${d.as('version', version)}`,
    d.table(checks, [d.column('status', ({ status }) => d.mark(status, TONES[status])), 'name', 'text'], {
      key: 'checks',
      isBare: true,
    }),
    d.paragraph(
      d.t`${examined < all ? d.t`the first ${examined} of ` : ''}${all} files here; ${formats.length === 0 ? 'none can be read' : 'these can be read:'}`,
    ),
    d.table(formats, ['format', 'files', d.column('bytes', (one) => one.bytes, { title: 'size' }), 'example'], {
      key: 'formats',
    }),
    d.items(
      unread.slice(0, MOST_UNREAD).map(({ text }) => text),
      { key: 'unread' },
    ),
    more > 0 && d.paragraph(d.t`${more} more files cannot be read (--json=full lists all)`),
  );
}
