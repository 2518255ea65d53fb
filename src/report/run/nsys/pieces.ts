/** Small pieces of the documents about Nsight Systems exports. */
import { count, type Figure, joined, type Text, t } from '../../document/document.js';

export interface NsysLook {
  /** Rows of each table. */
  readonly limit: number;
}

export const limited = <Row>(rows: readonly Row[], limit: number): readonly Row[] => rows.slice(0, limit);

/** Notes of a table: what the limit leaves out. */
export const left = (rows: readonly unknown[], limit: number): (Text | false)[] => [
  rows.length > limit && t`${count(rows.length - limit)} more (--limit 0 shows all)`,
];

export const time = (ns: number | null): Figure => ({ value: ns, unit: 'ns' });
export const since = (ns: number | null): Figure => ({ value: ns, unit: 'since_ns' });

/** `process 111 rank 0 device 1`: what is known of them. */
export const processText = (of: {
  readonly pid: number | null;
  readonly device: number | null;
  readonly rank?: number | null;
}): Text =>
  joined(
    (['pid', 'rank', 'device'] as const).map((name) => {
      const value = of[name] ?? null;
      return value !== null && t`${name === 'pid' ? 'process' : name} ${{ value, unit: 'number' }}`;
    }),
    ' ',
  );
