/** The long form of `caching-allocator.test.ts`. */
import './caching-allocator.test.js';
