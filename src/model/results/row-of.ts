import type { Queries } from '../../../queries/queries.gen.js';

/** A row of a query of the analysis library, for results that print it as it is: its header documents the columns. */
export type RowOf<Name extends keyof Queries> = Queries[Name]['row'];
