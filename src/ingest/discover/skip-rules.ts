/**
 * Names that a walk skips without opening the files. A run directory holds terabytes of checkpoints and a few logs; on
 * a parallel file system even opening each shard costs minutes. They do not apply to a file named on the command line.
 */

export interface SkipRule {
  readonly id: string;
  readonly on: 'file' | 'directory' | 'any';
  /** Matched against the base name. */
  readonly pattern: RegExp;
  /** Completes "skipped: …". */
  readonly why: string;
}

/** The first match wins. */
export const SKIP_RULES: readonly SkipRule[] = [
  {
    id: 'store',
    on: 'file',
    pattern: /\.(?:duckdb|duckdb\.wal|wal)$/i,
    why: 'a DuckDB store, which is our output and not an input',
  },
  { id: 'hidden', on: 'any', pattern: /^\./, why: 'hidden; name it to ingest it' },
  {
    id: 'installed-packages',
    on: 'directory',
    pattern: /^(?:node_modules|site-packages|dist-packages|__pycache__|__MACOSX)$/,
    why: 'installed code, not written by the run',
  },
  {
    id: 'checkpoint',
    on: 'file',
    pattern: /\.(?:distcp|pt|pth|ckpt|safetensors|gguf|onnx|nemo|msgpack)$/i,
    why: 'model weights or optimizer state',
  },
  {
    id: 'dataset',
    on: 'file',
    // .bin and .idx are Megatron's indexed datasets, and also weights and checkpoint shards.
    pattern: /\.(?:bin|idx|npy|npz|h5|hdf5|parquet|arrow|tfrecord)$/i,
    why: 'arrays or a data set',
  },
  {
    id: 'core-dump',
    on: 'file',
    // The kernel's default, systemd's core.NAME.UID.BOOT.PID.TIME, valgrind's, and CUDA's GPU core dumps.
    pattern: /^(?:vg)?core(?:[.-][\w.-]*\d)?$|\.(?:core|nvcudmp|hprof)$/,
    why: 'a core dump',
  },
  {
    id: 'archive',
    on: 'file',
    // Single compressed files (x.log.gz, x.log.zst) are not archives: those are known by their content.
    pattern: /\.(?:tar|tar\.(?:gz|bz2|xz|zst)|tgz|zip|7z|whl|deb|rpm|sqsh|sif|jar)$/i,
    why: 'an archive or container image; unpack it to ingest what it holds',
  },
  {
    id: 'media',
    on: 'file',
    pattern: /\.(?:png|jpe?g|gif|bmp|tiff?|webp|svg|ico|pdf|mp4|webm|wav|mp3|ttf|woff2?)$/i,
    why: 'an image, a document or a sound',
  },
  {
    id: 'program',
    on: 'file',
    // Sources quote error messages ("CUDA out of memory") that a log parser would take for events of this run.
    pattern: /\.(?:py|pyc|pyi|pyx|ipynb|c|cc|cpp|cxx|h|hpp|cu|cuh|ptx|cubin|so(?:\.\d+)*|o|a|js|mjs|css|rs|go|java)$/i,
    why: 'program text or machine code',
  },
  {
    id: 'documentation',
    on: 'file',
    // The same trap: a README that pastes an OOM message is not a log.
    pattern: /\.(?:md|rst|adoc|tex)$/i,
    why: 'documentation',
  },
];

/** The rule that passes over an entry met while walking, or undefined if it is worth opening. */
export function skipRuleFor(name: string, kind: 'file' | 'directory'): SkipRule | undefined {
  return SKIP_RULES.find((rule) => (rule.on === 'any' || rule.on === kind) && rule.pattern.test(name));
}
