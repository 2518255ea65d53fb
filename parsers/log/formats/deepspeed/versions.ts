import type { Emit, LineFormat } from '../contract.js';
import { figureFinding, wordFinding } from '../system/findings.js';

const PRODUCER = 'DeepSpeed';
const NAMES: Readonly<Record<string, string>> = {
  'torch version': 'version.torch',
  'torch cuda version': 'version.cuda',
  'torch hip version': 'version.hip',
  'nvcc version': 'version.nvcc',
};
const SHM_UNITS: Readonly<Record<string, number>> = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 };

function emitCommit(hash: string | undefined, emit: Emit): void {
  if (hash !== undefined && hash !== 'unknown') emit(wordFinding('commit.deepspeed', hash));
}

export const DEEPSPEED_ENV_REPORT: LineFormat = {
  form: 'line',
  id: 'deepspeed.env-report',
  title: 'Environment report (ds_report)',
  producer: PRODUCER,
  versions: '0.3 and later; shared memory since 0.12',
  source: 'deepspeed/env_report.py, debug_report',
  anchors: [
    'torch version ..',
    'torch cuda version ..',
    'torch hip version ..',
    'nvcc version ..',
    'deepspeed info ..',
    '(/dev/shm) size ..',
  ],
  fields: {
    label: 'what the version is of',
    version: 'as printed; None is left out',
    deepspeed: 'version',
    hash: 'git hash of DeepSpeed, or unknown',
    shm: 'size of /dev/shm, 1024-based',
    unit: 'of it',
  },
  pattern:
    /(?<label>torch version|torch cuda version|torch hip version|nvcc version) \.{2,40} (?<version>\d[\w.+-]{0,60})|deepspeed info \.{2,40} (?<deepspeed>\d[\w.+-]{0,60}), (?<hash>\w{1,40}), |shared memory \(\/dev\/shm\) size \.{2,40} (?<shm>\d{1,9}(?:\.\d{1,4})?) (?<unit>[KMGT]B)/g,
  read({ label, version, deepspeed, hash, shm, unit = '' }, emit) {
    if (label !== undefined && version !== undefined) emit(wordFinding(NAMES[label] ?? `version.${label}`, version));
    if (deepspeed !== undefined) {
      emit(wordFinding('version.deepspeed', deepspeed));
      emitCommit(hash, emit);
    }
    if (shm !== undefined)
      emit({
        ...figureFinding('host.shm_size', Math.round(Number(shm) * (SHM_UNITS[unit] ?? 1)), 'bytes'),
        text: `${shm} ${unit}`,
      });
  },
};

export const DEEPSPEED_INFO: LineFormat = {
  form: 'line',
  id: 'deepspeed.info',
  title: 'DeepSpeed version at initialisation',
  producer: PRODUCER,
  versions: '0.1 and later',
  source: 'deepspeed/__init__.py, initialize',
  anchors: ['DeepSpeed info: version='],
  fields: { version: 'of DeepSpeed', hash: 'git hash, or unknown' },
  pattern: /DeepSpeed info: version=(?<version>[\w.+-]{1,60}), git-hash=(?<hash>\w{1,40})/g,
  read({ version = '', hash }, emit) {
    emit({ row: 'phase', phase: 'optimizer_build', label: 'DeepSpeed initialize' });
    emit(wordFinding('version.deepspeed', version));
    emitCommit(hash, emit);
  },
};
