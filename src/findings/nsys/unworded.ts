/** Results of `nsys` before their sentences are made. */
import type * as nsys from '../../model/results/nsys.js';
import type { Unworded } from '../../model/statement.js';

type Words = 'warnings' | 'missing' | 'what' | 'reasons' | 'tables_not_kept';

export type NsysMissing = Unworded<nsys.NsysMissing, Words>;
export type NsysReport = Omit<nsys.NsysReport, 'missing' | 'tables_not_kept'> &
  Unworded<Pick<nsys.NsysReport, 'missing' | 'tables_not_kept'>, Words>;
export type NsysComparison = Omit<nsys.NsysComparison, 'warnings'> &
  Unworded<Pick<nsys.NsysComparison, 'warnings'>, Words>;
export type NsysResult = Omit<nsys.NsysResult, 'reports' | 'against'> & {
  readonly reports: readonly NsysReport[];
  readonly against?: NsysComparison;
};
