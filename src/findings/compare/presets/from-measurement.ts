/** A run in the values of each preset; shared with the writers of golden files, which may not look into this room. */
export { bridgeValuesOf, megatronValuesOf } from '../../../model/upstream-values-of.js';
