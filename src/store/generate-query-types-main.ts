/** `npm run generate`: writes queries/queries.gen.ts from the headers of queries/. A test tells when it was forgotten. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateQueryTypes } from './generate-query-types.js';
import { loadAllQueries, packageRoot } from './load-queries.js';

writeFileSync(join(packageRoot(), 'queries', 'queries.gen.ts'), generateQueryTypes(loadAllQueries()));
