// Prints the rows of statements on a store as JSON, one line each. Imports nothing but DuckDB's own package.
import { DuckDBInstance } from '@duckdb/node-api';

const [file, ...statements] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
const connection = await instance.connect();
for (const statement of statements) {
  const reader = await connection.runAndReadAll(statement);
  console.log(JSON.stringify(reader.getRowObjectsJson()));
}
connection.closeSync();
instance.closeSync();
