import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { MIB } from '../units.js';

export const TORCH_GPU_PROCESSES: LineFormat = {
  form: 'line',
  id: 'torch.gpu-processes',
  title: 'Process of torch.cuda.list_gpu_processes()',
  producer: 'PyTorch',
  versions: '1.8 and later',
  source: 'torch/cuda/memory.py, list_gpu_processes',
  anchors: [' MB GPU memory'],
  fields: { pid: 'process', used: 'MiB, printed as MB: the device memory of that process as the driver counts it' },
  pattern: /process {1,11}(?<pid>\d{1,10}) uses {1,13}(?<used>\d{1,12}(?:\.\d{1,6})?) MB GPU memory/g,
  read({ pid = '', used = '' }, emit) {
    emit({ ...figureFinding('gpu.process', Math.round(Number(used) * MIB), 'bytes'), text: `pid ${pid}` });
  },
};
