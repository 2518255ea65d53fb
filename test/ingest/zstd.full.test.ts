/** The long form of `zstd.test.ts`. */
import './zstd.test.js';
