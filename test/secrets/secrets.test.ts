/** No secret of a file is in the store or in an answer. All kinds and more verbs: `secrets.ci.test.ts`. */
import { testPlantedRun } from './planted-run.js';
import { KINDS } from './planted-secrets.js';

testPlantedRun({
  seed: 1,
  kinds: KINDS.filter((_, i) => i % 5 === 0),
  verbs: [['diagnose'], ['log', 'config', '--json=full'], ['log', 'env'], ['log', '--json=full'], ['show', 'E1']],
});
