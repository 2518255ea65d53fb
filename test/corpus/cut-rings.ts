/**
 * Dumps as torch's ring buffer leaves them: the state at an entry of a complete recording, with the stacks its blocks
 * have, and only the last entries before it.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../../src/store/store.js';
import { withLibrary } from '../support/library-sql.js';

/** Usage: CUT state.json out-folder < file. Writes `FIRST.pickle` for each of the first entries to keep. */
const CUT = `
import gzip, json, pickle, sys
class Restricted(pickle.Unpickler):
    def find_class(self, module, name): raise pickle.UnpicklingError('refused')
asked = json.load(open(sys.argv[1]))
raw = open(asked['file'], 'rb').read()
whole = Restricted(__import__('io').BytesIO(gzip.decompress(raw) if raw[:2] == b'\\x1f\\x8b' else raw)).load()
device, end = asked['device'], asked['end']
trace = whole['device_traces'][device][:end + 1]
if asked['segments'] is not None:
    blocks = iter(asked['blocks'] + [None])
    block = next(blocks)
    segments = []
    for s in asked['segments']:
        at, until = s['address'], s['address'] + s['total_size']
        s.update(device=device, segment_pool_id=tuple(s['segment_pool_id']), blocks=[], frames=[])
        def gap(to):
            if to > at: s['blocks'].append(dict(address=at, size=to - at, requested_size=0, state='inactive', frames=[]))
        while block is not None and block['address'] < until:
            gap(block['address'])
            alloc = block.pop('alloc_seq')
            block['frames'] = trace[alloc]['frames'] if alloc is not None and 'frames' in trace[alloc] else []
            s['blocks'].append(block)
            at = block['address'] + block['size']
            block = next(blocks)
        gap(until)
        active = [b for b in s['blocks'] if b['state'] != 'inactive']
        s['active_size'] = sum(b['size'] for b in active)
        s['allocated_size'] = sum(b['size'] for b in active if b['state'] == 'active_allocated')
        segments.append(s)
    whole['segments'] = segments
for first in asked['firsts']:
    whole['device_traces'] = [trace[first:] if i == device else [] for i in range(len(whole['device_traces']))]
    with open(f"{sys.argv[2]}/{first}.pickle", 'wb') as out: pickle.dump(whole, out, protocol=4)
`;

export interface Rings {
  readonly file: string;
  readonly device: number;
  /** Last entry; the dump is the file's own if it is the last of its trace, else the state that was walked back to. */
  readonly end: number;
  readonly isFilesEnd: boolean;
  /** First entries that are kept. */
  readonly firsts: readonly number[];
}

/** Paths of the dumps, in the order of `firsts`; `store` has the recording as its snapshot 1. */
export async function cutRings(
  store: Store,
  { file, device, end, isFilesEnd, firsts }: Rings,
  folder: string,
): Promise<string[]> {
  const rows = async (sql: string) =>
    (await store.select(withLibrary(sql))).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    );
  const segments = await rows(
    `SELECT life.address, total_bytes AS total_size, coalesce(stream, 0) AS stream, segment_type,
       coalesce(pool_id_a, 0) AS a, coalesce(pool_id_b, 0) AS b, is_expandable = 1 AS is_expandable
     FROM segments_at(1, ${device}, ${end}) AS life
     LEFT JOIN snapshot_pool ON snapshot_pool.snapshot_id = 1 AND snapshot_pool.pool = life.pool ORDER BY life.address`,
  );
  const blocks = await rows(
    `SELECT address, actual_bytes AS size, coalesce(requested_bytes, actual_bytes) AS requested_size, state, alloc_seq
     FROM live_at(1, ${device}, ${end}) ORDER BY address`,
  );
  const state = isFilesEnd
    ? { segments: null, blocks: null }
    : { segments: segments.map(({ a, b, ...segment }) => ({ ...segment, segment_pool_id: [a, b] })), blocks };
  const asked = join(folder, 'asked.json');
  writeFileSync(asked, JSON.stringify({ file, device, end, firsts, ...state }));
  const { status, stderr } = spawnSync('python3', ['-c', CUT, asked, folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return firsts.map((first) => join(folder, `${first}.pickle`));
}
