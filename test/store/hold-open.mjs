// Holds a store open for reading until its standard input ends. Imports nothing but DuckDB's own package.
import { once } from 'node:events';
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(process.argv[2], { access_mode: 'READ_ONLY' });
const connection = await instance.connect();
console.log('open');
process.stdin.resume();
await once(process.stdin, 'end');
connection.closeSync();
instance.closeSync();
