/**
 * The names of the queries and the types of what goes in and comes out, from the file generated out of their headers.
 */
import type { Queries } from '../../queries/queries.gen.js';

export type QueryName = keyof Queries & string;
export type QueryParams<Name extends QueryName> = Queries[Name]['params'];
export type QueryRow<Name extends QueryName> = Queries[Name]['row'];

/** The parameters may be left out where none is required. */
export type QueryArguments<Name extends QueryName> =
  Record<string, never> extends QueryParams<Name> ? [params?: QueryParams<Name>] : [params: QueryParams<Name>];
