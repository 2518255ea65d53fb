import type { LineFormat } from '../contract.js';
import { figureFinding, wordFinding } from '../system/findings.js';

const PRODUCER = 'NCCL';
// NCCL INFO lines may be nine tenths of a log: the ordinary ones contain none of these anchors.

export const NCCL_VERSION: LineFormat = {
  form: 'line',
  id: 'nccl.version',
  title: 'Version of NCCL or RCCL',
  producer: PRODUCER,
  versions: 'all; printed by rank 0 of each communicator from NCCL_DEBUG=VERSION on',
  source: 'nccl/src/init.cc, showVersion',
  anchors: ['CCL version '],
  fields: { nccl: 'version', cuda: 'CUDA it was built with', hip: 'HIP it was built with (RCCL)' },
  // Unbuffered prints of several ranks are glued: `…+cuda12.4NCCL version …`.
  pattern:
    /[NR]CCL version (?:: )?(?<nccl>\d{1,3}\.\d{1,3}\.\d{1,3}(?:-\d{1,3}(?![\d.]))?)(?:\+cuda(?<cuda>\d{1,3}\.\d{1,3})|\+hip(?<hip>\d{1,3}\.\d{1,3}))?/g,
  read({ nccl = '', cuda, hip }, emit) {
    emit(wordFinding('version.nccl', nccl));
    if (cuda !== undefined) emit(wordFinding('version.cuda_of_nccl', cuda));
    if (hip !== undefined) emit(wordFinding('version.hip_of_nccl', hip));
  },
};

export const NCCL_DRIVER: LineFormat = {
  form: 'line',
  id: 'nccl.driver',
  title: 'CUDA version of the driver, as NCCL sees it',
  producer: PRODUCER,
  versions: '2.13 and later',
  source: 'nccl/src/misc/cudawrap.cc, initOnceFunc',
  anchors: ['cudaDriverVersion '],
  fields: { version: '1000 × major + 10 × minor' },
  pattern: /cudaDriverVersion (?<version>\d{4,6})(?!\d)/g,
  read({ version = '' }, emit) {
    const number = Number(version);
    emit(wordFinding('version.cuda_driver', `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`));
  },
};

export const NCCL_COMMUNICATOR: LineFormat = {
  form: 'line',
  id: 'nccl.communicator',
  title: 'A communicator is ready',
  producer: PRODUCER,
  versions: '2.4 and later; function name before `comm` since 2.18',
  source: 'nccl/src/init.cc, initTransportsRank and ncclCommInitRankFunc',
  anchors: ['Init COMPLETE'],
  fields: {
    rank: 'in this communicator: not the global rank unless the communicator is the world',
    nranks: 'size of the communicator',
    device: 'ordinal the process sees',
    rest: 'NVML index, bus id, parent, colour, key, communicator id',
  },
  pattern:
    /comm 0x[\da-f]{1,16} rank (?<rank>\d{1,7}) n[Rr]anks (?<nranks>\d{1,7}) cudaDev (?<device>\d{1,4})(?<rest>(?: [\w/]{1,24}){0,24}) - Init COMPLETE/g,
  read({ rank = '', nranks = '', device = '', rest = '' }, emit) {
    emit({
      ...figureFinding('nccl.communicator', Number(nranks), 'ranks', { device: Number(device) }),
      text: `rank ${rank} of ${nranks},${rest}`,
    });
  },
};

export const NCCL_INIT_TIME: LineFormat = {
  form: 'line',
  id: 'nccl.init-time',
  title: 'How long a communicator took to initialise',
  producer: PRODUCER,
  versions: '2.23 and later',
  source: 'nccl/src/init.cc, ncclCommInitRankFunc',
  anchors: ['Init timings - '],
  fields: { call: 'ncclCommInitRank, …', nranks: 'size of the communicator', total: 's' },
  pattern: /Init timings - (?<call>\w{1,40}): rank \d{1,7} nranks (?<nranks>\d{1,7}) total (?<total>\d{1,6}\.\d{1,4})/g,
  read({ call = '', nranks = '', total = '' }, emit) {
    emit({ ...figureFinding('nccl.init.s', Number(total), 's'), text: `${call}, ${nranks} ranks` });
  },
};

export const NCCL_ALLOCATION: LineFormat = {
  form: 'line',
  id: 'nccl.allocation',
  title: 'Memory NCCL allocates',
  producer: PRODUCER,
  versions: 'all, with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS containing ALLOC; file and line before `Cuda` since 2.8',
  source: 'nccl/src/include/alloc.h',
  anchors: ['Alloc Size '],
  fields: {
    place: 'source file and line',
    kind: '`Cuda`, `CuMem`: of the device; `Cuda Host`, `CUMEM Host`, `Ib`, `Mem` (malloc): of the host',
    bytes:
      'bytes; a sum is what was ever taken, for frees are not printed, and a lower bound: cuMem allocations, the default since 2.19, appear in TRACE builds only',
  },
  pattern:
    /(?:(?<![\w./-])(?<place>[\w./-]{1,80}:\d{1,6}) )?(?<kind>Cuda Host|CUMEM Host|Cuda|CuMem|CUMEM|Mem|Ib) Alloc Size (?<bytes>\d{1,16})(?!\d)/g,
  read({ place, kind = '', bytes = '' }, emit) {
    const host = kind.endsWith('Host') || kind === 'Ib' || kind === 'Mem';
    emit({
      ...figureFinding(host ? 'nccl.host_alloc.bytes' : 'nccl.alloc.bytes', Number(bytes), 'bytes'),
      text: place === undefined ? kind : `${kind}, ${place}`,
    });
  },
};
