/** `doctor` as a screen. */
import type { DoctorResult } from '../../model/results/doctor.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { printable, wrap } from '../plain-text.js';
import { green, red, screen, yellow } from '../screen.js';

const COLORS = { ok: green, warning: yellow, failed: red } as const;
const LABEL = 9;
const MOST_UNREAD = 10;

export function doctorText({ version, checks, files, formats, unread }: DoctorResult): string {
  const line = (status: keyof typeof COLORS, name: string, text: string): string[] => {
    const label = `${status.padEnd(LABEL)}${name.padEnd(LABEL)}`;
    const [first = '', ...others] = wrap(printable(text), screen.width - label.length);
    return [
      `${COLORS[status](status)}${label.slice(status.length)}${first}`,
      ...others.map((other) => `${' '.repeat(label.length)}${other}`),
    ];
  };
  const examined =
    files.examined < files.all
      ? `the first ${formatCount(files.examined)} of ${formatCount(files.all)} files`
      : `${formatCount(files.all)} files`;
  const lines = [
    `mbforensics ${version}`,
    ...checks.flatMap(({ status, name, text }) => line(status, name, text)),
    `${examined} here; ${formats.length === 0 ? 'none can be read' : 'these can be read:'}`,
    ...formats.map(
      ({ format, files: count, bytes, example }) =>
        `  ${format.padEnd(16)} ${formatCount(count)} (${formatBytes(bytes)}), such as ${printable(example)}`,
    ),
    ...unread.slice(0, MOST_UNREAD).flatMap(({ text }) => line('warning', 'file', text)),
  ];
  if (unread.length > MOST_UNREAD) lines.push(`${formatCount(unread.length - MOST_UNREAD)} more files cannot be read`);
  return `${lines.join('\n')}\n`;
}
