/**
 * A run in the values of each preset; shared with the writers of golden files, which may not import from this folder.
 */
export { bridgeValuesOf, megatronValuesOf } from '../../../model/upstream-values-of.js';
