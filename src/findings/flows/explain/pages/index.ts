/** Pages that `npm run build` writes to dist/docs, by their file names. */
import { knobsPage } from './knobs.js';
import { lintRulesPage } from './lint-rules.js';
import { symptomsPage } from './symptoms.js';

export const PAGES: Readonly<Record<string, () => string>> = {
  'lint-rules.md': lintRulesPage,
  'knobs.md': knobsPage,
  'symptoms.md': symptomsPage,
};
