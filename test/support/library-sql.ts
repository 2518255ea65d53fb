/** Statements of tests that use the views and macros of `queries/library/`, as queries of the program use them. */
import { composeSql } from '../../src/store/compose-sql.js';

export function withLibrary(statement: string): string {
  const about = {
    name: 'test.statement',
    kind: undefined,
    title: '',
    why: '',
    params: [],
    columns: [],
    uses: [],
    needs: [],
    defaults: new Map(),
  };
  return composeSql({ ...about, statement });
}
