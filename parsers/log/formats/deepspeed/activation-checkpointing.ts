import type { BlockFormat } from '../contract.js';
import { bannerSetting, figureFinding } from '../system/findings.js';

const PARTITION = /----Partition Activations (?<partition>True|False), CPU CHECKPOINTING (?<cpu>True|False)/;
const CONTIGUOUS =
  /----contiguous Memory Checkpointing (?<contiguous>True|False) with (?<layers>\d{1,6}|None) total layers/;
const MINOR = /----(?:Synchronization|Profiling time in checkpointing) (?:True|False)/;

export const DEEPSPEED_ACTIVATION_CHECKPOINTING: BlockFormat = {
  form: 'block',
  id: 'deepspeed.activation-checkpointing',
  title: 'How activations are checkpointed, printed at the first forward pass',
  producer: 'DeepSpeed',
  versions: '0.1 and later; global rank 0',
  source: 'deepspeed/runtime/activation_checkpointing/checkpointing.py, CheckpointFunction.forward',
  anchors: ['Activation Checkpointing Information'],
  fields: {
    partition: 'checkpointed activations are split over tensor-parallel ranks',
    cpu: 'they are moved to the host',
    contiguous: 'they are in one buffer that is allocated beforehand',
    layers: 'layers of the whole model, for the size of that buffer',
  },
  opens: /Activation Checkpointing Information\s{0,4}$/,
  mostForeign: 16,
  mostLines: 64,
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
      end() {},
    };
  },
};
