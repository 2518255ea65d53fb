import type { LaunchStage } from '../../../src/model/log-rows.js';
import type { LineFormat } from '../formats/contract.js';

type Facts = Pick<LineFormat, 'id' | 'title' | 'producer' | 'versions' | 'source' | 'anchors' | 'pattern'>;

/** A banner that announces a launch and contains no other fact. Its groups are `what`, and `rank` of its writer. */
export function launchLine(
  facts: Facts & { readonly label: string; readonly stage: LaunchStage | 'loop' },
): LineFormat {
  const { label, stage, ...rest } = facts;
  const hasRank = facts.pattern.source.includes('(?<rank>');
  return {
    ...rest,
    form: 'line',
    fields: { what: 'the banner', ...(hasRank ? { rank: 'of its writer' } : {}) },
    read({ rank }, emit) {
      emit({ row: 'launch', label, stage, writer: rank });
    },
  };
}
