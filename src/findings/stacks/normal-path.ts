/**
 * File names as they would be without the accidents of one installation: prefix, Python version, egg, hash of generated
 * code.
 */

/** Dynamo's and Inductor's generated modules are named after a hash of their content, so no two builds share a name. */
const INDUCTOR_FOLDER = /(?:^|\/)torchinductor[^/]*\//;
const INDUCTOR = /(?:^|\/)([a-z2-7]{2})\/c\1[a-z2-7]{40,}\.py$/;
const INDUCTOR_HASHED = /(?:^|\/)([a-z2-7]{2})\/c[a-z2-7]{50,}\.py$/;
const FX_FILE = /(?:^|\/)fx_generated_[^/]*\.py$/;
const TRITON = /(?:^|\/)\.?triton\/(?:cache\/)?[A-Za-z0-9_-]{20,}\/([^/]+\.py)$/;
const IPYTHON = /(?:^|\/)ipykernel_\d+\/[^/]+\.py$|^<ipython-input-[^>]*>$/;

export const GENERATED_PATHS: ReadonlySet<string> = new Set(['<inductor>', '<fx>', '<eval_with_key>']);

/**
 * `/opt/conda/lib/python3.11/site-packages/megatron/core/x.py` → `megatron/core/x.py`. What lies in no known place
 * keeps its absolute path: where a checkout begins can only be seen against the other side (`match-paths.ts`).
 */
export function normalPath(filename: string): string {
  const path = filename.replaceAll('\\', '/').replace(/^[A-Za-z]:\//, '/');
  if (path.startsWith('<')) {
    if (path.startsWith('<eval_with_key>')) return '<eval_with_key>';
    if (IPYTHON.test(path)) return '<ipython-input>';
    // `<frozen importlib._bootstrap>`, `<string>`; counters behind the bracket are no part of the name.
    return /^<[^>]*>/.exec(path)?.[0] ?? path;
  }
  const isInductor = path.endsWith('.py') && INDUCTOR_FOLDER.test(path);
  if (isInductor || INDUCTOR.test(path) || INDUCTOR_HASHED.test(path)) return '<inductor>';
  if (FX_FILE.test(path)) return '<fx>';
  if (IPYTHON.test(path)) return '<ipython-input>';
  const triton = TRITON.exec(path);
  if (triton !== null) return `<triton>/${triton[1]}`;
  const packages = /^.*\/(?:site|dist)-packages\/(?:[^/]+\.egg\/)?(.+)$/.exec(path);
  if (packages !== null) return packages[1]!;
  const library = /^.*\/lib(?:64)?\/python[\d.]+\/(?:lib-dynload\/)?(.+)$/.exec(path);
  if (library !== null) return `lib/python/${library[1]}`;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '.' || (segment === '' && segments.length > 0)) continue;
    if (segment === '..' && segments.length > 1) segments.pop();
    else segments.push(segment);
  }
  return segments.join('/');
}
