import type { BlockCode } from '../contract.js';
import { bannerSetting } from '../system/findings.js';

export const ACCELERATE_ENVIRONMENT: BlockCode = {
  id: 'accelerate.environment',
  begin: (_match, emit) => ({
    line(text) {
      const processes = /^\s{0,8}Num processes: (\d{1,7})\s{0,4}$/.exec(text)?.[1];
      if (processes !== undefined) {
        emit(bannerSetting('world_size', 'Num processes', processes));
        return 'taken';
      }
      if (/^\s{0,8}(?:Process index: \d|Local process index: \d|Device: \w|\s{0,8}$)/.test(text)) return 'taken';
      const precision = /^\s{0,8}(?:Mixed precision type: |Use FP16 precision: )(\w{2,8})/
        .exec(text)?.[1]
        ?.toLowerCase();
      if (precision === undefined) return 'foreign';
      if (precision === 'fp16' || precision === 'bf16') emit(bannerSetting(precision, 'Mixed precision type', 'True'));
      return 'last';
    },
  }),
};
