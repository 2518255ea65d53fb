/** `npm run test:full`: long property runs, the corpus of real files, mutated files, planted bisections. */
import { defineConfig } from 'vitest/config';
import { testConfig } from './vitest.config.js';

export default defineConfig({ test: testConfig('full') });
