/** Pages of docs/ that are made from data, by their file names. */
import { guidesCoveragePage } from './guides-coverage.js';
import { knobsPage } from './knobs.js';
import { lintRulesPage } from './lint-rules.js';
import { symptomsPage } from './symptoms.js';

export const PAGES: Readonly<Record<string, () => string>> = {
  'lint-rules.md': lintRulesPage,
  'knobs.md': knobsPage,
  'symptoms.md': symptomsPage,
  'guides-coverage.md': guidesCoveragePage,
};
