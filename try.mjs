import { DuckDBInstance } from '@duckdb/node-api';
const c = await (await DuckDBInstance.create(':memory:')).connect();
for (const q of process.argv.slice(2)) { try { const r=await c.runAndReadAll(q); console.log(JSON.stringify(r.getRowObjectsJson())); } catch (e) { console.log(String(e)); } }
