/** Failures unrelated to memory, each with its advice. */
import type { IncidentKind } from '../../../model/vocabulary.js';
import type { KindVerdict } from './kind-verdict.js';

const BASE: Omit<KindVerdict, 'summary'> = {
  cause: 'not_oom',
  detail: null,
  confidence: 'high',
  missing: [],
  next: [],
};
const OTHERS_LOGS = {
  missing: ['the logs of all ranks: the one that failed first names its cause, the others only waited for it'],
  capture: 'logs_of_all_ranks',
} as const;

export const NOT_OOM: KindVerdict = { ...BASE, summary: 'the run failed, but not for want of memory' };

export const NOT_OOM_BY_KIND: Partial<Record<IncidentKind, KindVerdict>> = {
  config_error: {
    ...BASE,
    summary: 'the configuration was refused: not a memory failure',
    next: ['change the setting that the message names'],
  },
  timeout: {
    ...BASE,
    ...OTHERS_LOGS,
    summary: 'a collective timed out: some rank did not come, and nothing read here says why',
    next: ['look for the rank that printed last, and for what it printed'],
  },
  connection_lost: {
    ...BASE,
    ...OTHERS_LOGS,
    summary: 'a connection to another rank was lost: that rank had ended, and nothing read here says why',
    next: ['look for the rank that ended first'],
  },
  hardware: {
    ...BASE,
    summary: 'the device, its memory or its link failed',
    next: ['take the node out and run its diagnostics (nvidia-smi -q, dcgmi diag)'],
  },
  time_limit: {
    ...BASE,
    summary: 'the job reached its time limit: it was ended, it did not fail',
    next: ['resume from the last checkpoint'],
  },
};
