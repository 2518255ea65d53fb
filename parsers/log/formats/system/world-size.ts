import type { LineFormat } from '../contract.js';
import { bannerSetting } from './findings.js';

export const WORLD_SIZE: LineFormat = {
  form: 'line',
  id: 'torch.world-size',
  title: 'World size, as a launcher or a script prints it',
  producer: 'torchrun, FSDP examples',
  versions: 'PyTorch 1.9 and later',
  source: 'torch/distributed/elastic/agent/server/api.py, _rendezvous; llama-recipes and FSDP examples',
  anchors: ['global_world_sizes=[', 'World Size= ', 'World size: ', 'world size: ', 'World Size: '],
  fields: { elastic: 'ranks of the job, once per local rank', printed: 'the same' },
  // Not `using world size:`, which has a format of its own.
  pattern:
    /\bglobal_world_sizes=\[(?<elastic>\d{1,7})[\],]|(?:^|-->|[|>\]]) {0,4}(?:World [Ss]ize|world size)(?:= |: )(?<printed>\d{1,7})\s{0,4}$/g,
  read({ elastic, printed }, emit) {
    const size = elastic ?? printed ?? '';
    if (Number(size) > 0)
      emit(bannerSetting('world_size', elastic === undefined ? 'World Size' : 'global_world_sizes', size));
  },
};
