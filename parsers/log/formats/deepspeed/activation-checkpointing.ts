import type { BlockCode } from '../contract.js';
import { bannerSetting, figureFinding } from '../system/findings.js';

const PARTITION = /----Partition Activations (?<partition>True|False), CPU CHECKPOINTING (?<cpu>True|False)/;
const CONTIGUOUS =
  /----contiguous Memory Checkpointing (?<contiguous>True|False) with (?<layers>\d{1,6}|None) total layers/;
const MINOR = /----(?:Synchronization|Profiling time in checkpointing) (?:True|False)/;

export const DEEPSPEED_ACTIVATION_CHECKPOINTING: BlockCode = {
  id: 'deepspeed.activation-checkpointing',
  begin(_match, emit) {
    return {
      line(text) {
        const { partition, cpu } = PARTITION.exec(text)?.groups ?? {};
        if (partition !== undefined && cpu !== undefined) {
          emit(
            bannerSetting(
              'activation_checkpointing.partition_activations',
              'Partition Activations',
              partition.toLowerCase(),
            ),
          );
          emit(bannerSetting('activation_checkpointing.cpu_checkpointing', 'CPU CHECKPOINTING', cpu.toLowerCase()));
          return 'taken';
        }
        const { contiguous, layers } = CONTIGUOUS.exec(text)?.groups ?? {};
        if (contiguous !== undefined) {
          emit(
            bannerSetting(
              'activation_checkpointing.contiguous_memory_optimization',
              'contiguous Memory Checkpointing',
              contiguous.toLowerCase(),
            ),
          );
          if (layers !== undefined && layers !== 'None')
            emit(figureFinding('activation_checkpointing.layers', Number(layers), 'count'));
          return 'taken';
        }
        if (!MINOR.test(text)) return 'foreign';
        return text.includes('Profiling') ? 'last' : 'taken';
      },
    };
  },
};
