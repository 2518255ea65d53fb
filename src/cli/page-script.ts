/** The program of a page, which the build bundles from `src/report/page`. */
import { readFileSync } from 'node:fs';

export const pageScript = (): string => readFileSync(new URL('../report/page/page.js', import.meta.url), 'utf8');
