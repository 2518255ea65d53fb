/** DuckDB in memory that reads the files of one directory alone, and loads no extension. */
import type { DuckDBConnection, DuckDBInstance as Instance } from '@duckdb/node-api';
import { DuckDBInstance } from './duckdb.js';

/** `directory`: without symbolic links. `spill`: a directory that it may make for what memory does not hold, or ''. */
export async function openConfined(
  directory: string,
  {
    memoryBytes,
    threads,
    spill = '',
  }: { readonly memoryBytes: number; readonly threads: number; readonly spill?: string },
): Promise<{ readonly instance: Instance; readonly connection: DuckDBConnection }> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryBytes}B`,
    threads: String(threads),
    temp_directory: spill,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
  });
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  await connection.run(`SET allowed_directories = ['${directory.replaceAll("'", "''")}/']`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
  return { instance, connection };
}
