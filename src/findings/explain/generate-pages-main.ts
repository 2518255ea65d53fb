/** `npm run generate:docs`: writes those pages of docs/ that are made from data. A test tells when it was forgotten. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../store/load-queries.js';
import { PAGES } from './pages/index.js';

for (const [name, page] of Object.entries(PAGES)) writeFileSync(join(packageRoot(), 'docs', name), page());
