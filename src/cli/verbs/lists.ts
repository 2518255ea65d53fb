import type { Command } from 'commander';
import type { RunsResult, SourcesResult } from '../../model/results.js';
import { runsText, sourcesText } from '../../report/lists-text.js';
import type { Context } from '../context.js';
import { storedFailure } from '../path-store.js';
import { dbPath, openTargetStore } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

export function registerLists(program: Command, context: Context): void {
  withCommon(
    program
      .command('runs')
      .description('the runs in the store, the latest first')
      .argument('[path]', 'the runs of a path instead of the store'),
    ['runs', 'runs --json', 'runs --db golden.duckdb'],
  ).action(async (path: string | undefined, options: CommonOptions) => {
    const { store, close } = await openTargetStore(path, options, context);
    try {
      const rows = await store.all('store.runs', { run_id: null });
      const runs = rows.map((row) => ({
        name: row.name,
        label: row.label,
        commit: row.commit_sha,
        path: row.root_path,
        created_at: row.created_at,
        sources: row.sources,
        failed: row.failed,
        snapshots: row.snapshots,
        incidents: row.incidents,
      }));
      const result: RunsResult = { schema: 'mbforensics/runs@1', db: path ?? dbPath(options, context), runs };
      answer(context, options, result, runsText);
    } finally {
      await close();
    }
  });

  withCommon(
    program
      .command('sources')
      .description('the files in the store and what became of each')
      .argument('[path]', 'the files of a path instead of the store'),
    ['sources', 'sources runs/llama3-70b-sft', 'sources --json'],
  ).action(async (path: string | undefined, options: CommonOptions) => {
    const { store, close } = await openTargetStore(path, options, context);
    try {
      const rows = await store.all('store.sources', { run_id: null });
      const sources = rows.map((row) => ({
        run: row.run,
        path: row.display_path,
        format: row.format,
        status: row.status,
        file_bytes: row.file_bytes,
        rank: row.rank,
        rank_origin: row.rank_origin,
        sha256: row.sha256,
        notes: row.notes,
        error: row.error_code === null ? null : storedFailure(row.error_code, row.error_text),
      }));
      const result: SourcesResult = { schema: 'mbforensics/sources@1', db: path ?? dbPath(options, context), sources };
      answer(context, options, result, sourcesText);
    } finally {
      await close();
    }
  });
}
