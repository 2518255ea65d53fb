/**
 * Golden-value files of Megatron-LM, Megatron Bridge and our own: read whole, for they are small, and by name, for they
 * are never ingested.
 */
export { looksLikeGolden } from './looks-like-golden.js';
export { readGolden } from './read-golden.js';
export { writeBridgeGolden } from './write-bridge.js';
export { writeMegatronGolden } from './write-megatron.js';
