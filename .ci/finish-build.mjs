// tsc writes plain files; the one named by `bin` must be executable for a checkout linked with `npm link`.
import { chmodSync } from 'node:fs';

chmodSync(new URL('../dist/src/cli/main.js', import.meta.url), 0o755);
