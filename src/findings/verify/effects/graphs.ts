/** CUDA graphs: lines of their capture, and private pools. */

import type { VerifyEvidence } from '../unworded.js';
import { textOf } from '../values.js';
import { type EffectInput, type EffectOf, effect } from './effect.js';
import { ownRecord } from './printed.js';

export const graphsEffect: EffectOf = ({ change, family, after }: EffectInput) => {
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no') return effect('inactive', 'differs', record.figures, record.source);
  const impl = family.find(({ key }) => key === 'cuda_graph_impl') ?? change;
  const isOff = /^(?:none|null|false)?$/i.test(impl.to ?? '');
  const evidence: VerifyEvidence[] = [{ text: record.text, source: record.source }];
  const built = after.values.find(({ name }) => name === 'graph.count' || name === 'graph.capture_s');
  const phase = after.phases.find((one) => one.phase === 'graph_capture');
  const place = built ?? phase;
  const source = place === undefined ? undefined : textOf('file_line', { file: place.file, line: place.line });
  const pool = after.measurement.peaks.find(({ components }) => (components.graph_pool ?? 0) > 0);
  if (source !== undefined || pool !== undefined) {
    const code = source !== undefined ? 'captures' : 'graph_pools';
    return effect(isOff ? 'inactive' : 'active', code, {}, source ?? pool!.handle, { evidence });
  }
  // Graphs print a line of their own wherever training got so far.
  const trained = after.measurement.steps !== null;
  if (trained && after.phases.length > 0)
    return effect(isOff ? 'active' : 'inactive', 'no_captures', {}, textOf('log_after'), { evidence });
  return effect('untested', 'graphs_unknown', record.figures, record.source, { evidence });
};
