/**
 * Golden-value files of Megatron-LM, Megatron Bridge and our own: read whole, for they are small, and by name, for they
 * are never ingested.
 */
export { looksLikeGolden, readGolden } from './read-golden.js';
export { writeBridgeGolden, writeMegatronGolden } from './write-golden.js';
