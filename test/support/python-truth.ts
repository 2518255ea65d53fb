/**
 * What CPython's own unpickler finds in snapshot pickles, in the lines of {@link Decoded}. Shares no code with the
 * parser under test.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PythonTruth {
  readonly protocol: number;
  readonly form: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly traceLengths: readonly number[];
  readonly segments: readonly string[];
  readonly blocks: readonly string[];
  readonly events: readonly string[];
  readonly annotations: readonly string[];
  readonly ooms: readonly string[];
  readonly extras: readonly string[];
  readonly stacks: readonly string[];
}

/** Usage: DUMP out.jsonl file... ; one line a file. Integers that may pass 2^53 are text. */
const DUMP = `
import json, pickle, sys
class Restricted(pickle.Unpickler):
    def find_class(self, module, name): raise pickle.UnpicklingError('refused')
ACTIONS = ['alloc', 'free_requested', 'free_completed', 'segment_alloc', 'segment_free', 'segment_map', 'segment_unmap', 'snapshot', 'oom',
           'user_defined', 'annotate', 'workspace_snapshot', 'empty_cache']
KNOWN = {'action', 'addr', 'size', 'stream', 'time_us', 'compile_context', 'user_metadata', 'frames', 'pool_id', 'device_free'}
def line(row): return json.dumps(row, ensure_ascii=False, separators=(',', ':'))
def unsigned(v): return None if v is None else str(v % 2**64)
def signed(v): return None if v is None else str((v + 2**63) % 2**64 - 2**63)
def size(v): return None if v is None else str(v)
def scalar(v):
    if v is True or v is False: return str(v)
    if isinstance(v, str): return v
    if isinstance(v, float) and v.is_integer(): return str(int(v))
    if isinstance(v, (int, float)): return repr(v)
    return json.dumps(v, separators=(',', ':'))
def flat(prefix, v, out):
    if isinstance(v, dict):
        for k, part in v.items(): flat(str(k) if prefix == '' else prefix + '.' + str(k), part, out)
    elif prefix != '' and v is not None: out[prefix] = scalar(v)
out = open(sys.argv[1], 'w', encoding='utf8', errors='replace')
for path in sys.argv[2:]:
    with open(path, 'rb') as f:
        head = f.read(2); f.seek(0)
        d = Restricted(f).load()
    stacks, numbers, byid = [], {}, {}
    def stack(holder):
        if 'frames' not in holder: return None
        frames = holder['frames']
        if id(frames) in byid: return byid[id(frames)]
        text = line([[x['name'], x['filename'], x['line'] if 0 <= x['line'] < 2**31 else 0] for x in frames])
        if text not in numbers:
            numbers[text] = len(stacks); stacks.append(text)
        byid[id(frames)] = numbers[text]
        return numbers[text]
    top = {'segments': d} if isinstance(d, list) else d
    segments, blocks, events, annotations, ooms, extras = [], [], [], [], [], []
    for n, s in enumerate(top['segments']):
        device = s.get('device', 0)
        expandable = s.get('is_expandable')
        kind = s.get('segment_type')
        pool = s.get('segment_pool_id')
        segments.append(line([n, device, unsigned(s['address']), size(s['total_size']), size(s.get('allocated_size')), size(s.get('active_size')),
            size(s.get('requested_size')), signed(s.get('stream')), kind if kind in ('small', 'large') else 'unknown',
            None if expandable is None else int(expandable), None if pool is None else list(pool), stack(s)]))
    for n, s in enumerate(top['segments']):
        at = s['address']
        for b in s['blocks']:
            at = b.get('address', at)
            state = 'active_pending_free' if b['state'] == 'active_awaiting_free' else b['state']
            requested, holder = b.get('requested_size'), b
            if b.get('history'):
                newest = b['history'][0]
                if requested is None: requested = newest.get('real_size')
                if 'frames' not in b: holder = newest
            blocks.append(line([n, s.get('device', 0), unsigned(at), size(b['size']), None if state == 'inactive' else size(requested), state, stack(holder)]))
            at += b['size']
    traces = top.get('device_traces', [])
    for device, trace in enumerate(traces):
        for seq, e in enumerate(trace):
            action = e['action'] if e['action'] in ACTIONS else 'other'
            pool = e.get('pool_id')
            events.append(line([device, seq, action, unsigned(e.get('addr')), size(e.get('size', 0)), signed(e.get('stream')), signed(e.get('time_us')),
                None if pool is None else list(pool), e.get('compile_context'), e.get('user_metadata'), stack(e)]))
            if action == 'oom': ooms.append(line([device, seq, e.get('size', 0), e.get('device_free')]))
            if action == 'other': extras.append(line([device, seq, 'action', e['action']]))
            for k, v in e.items():
                if k not in KNOWN or (k == 'device_free' and action != 'oom'): extras.append(line([device, seq, k, v]))
    for n, a in enumerate(top.get('external_annotations', [])):
        stage = a['stage'] if a['stage'] in ('START', 'END') else 'other'
        annotations.append(line([n, stage, a['name'], a.get('device'), signed(a.get('time_us'))]))
    settings = {}
    flat('', top.get('allocator_settings'), settings)
    for k, v in top.items():
        if k not in ('segments', 'device_traces', 'allocator_settings', 'external_annotations'): flat(k, v, settings)
    out.write(json.dumps({'protocol': head[1], 'form': 'list' if isinstance(d, list) else 'dict', 'settings': settings,
        'traceLengths': [len(t) for t in traces], 'segments': segments, 'blocks': blocks, 'events': events, 'annotations': annotations, 'ooms': ooms,
        'extras': extras, 'stacks': stacks}, ensure_ascii=False) + '\\n')
    del d, top
`;

/** One truth per file, in order. */
export function pythonTruth(paths: readonly string[]): PythonTruth[] {
  const directory = mkdtempSync(join(tmpdir(), 'mbf-truth-'));
  try {
    const out = join(directory, 'truth.jsonl');
    python(DUMP, [out, ...paths]);
    return readFileSync(out, 'utf8')
      .split('\n')
      .filter((text) => text !== '')
      .map((text) => JSON.parse(text) as PythonTruth);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs a Python program; throws with its last line of stderr if it fails. */
export function python(program: string, args: readonly string[]): string {
  const run = spawnSync('python3', ['-c', program, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 29,
    env: { ...process.env, PYTHONIOENCODING: 'utf8' },
  });
  if (run.status !== 0) throw new Error(`python3 failed: ${run.stderr.trim().split('\n').at(-1)}`);
  return run.stdout;
}
