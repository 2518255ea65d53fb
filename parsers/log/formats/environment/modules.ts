import type { LineFormat } from '../contract.js';
import { wordFinding } from '../system/findings.js';

/** No failure: the job goes on, with the compiler, MPI or CUDA that was loaded before. */
export const LMOD_UNKNOWN: LineFormat = {
  form: 'line',
  id: 'environment.lmod',
  title: 'Environment modules that could not be loaded',
  producer: 'Lmod',
  versions: '7 and later',
  source: 'Lmod messageDir/en.lua; src/Master.lua, load',
  anchors: ['Lmod has detected the following error: '],
  fields: { modules: 'names and versions, where the line names them', words: 'any other reason' },
  pattern:
    /Lmod has detected the following error: (?:The following module\(s\) are unknown: (?<modules>"[^"\n]{1,120}"(?:[ ,]{1,2}"[^"\n]{1,120}"){0,40})|(?<words>[^\n]{1,300}))/g,
  read({ modules, words }, emit) {
    if (modules !== undefined) emit(wordFinding('environment.module_unknown', modules.replaceAll('"', '')));
    else if (words !== undefined) emit(wordFinding('environment.module_error', words.trim()));
  },
};
