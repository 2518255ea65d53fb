/**
 * Compares an exported snapshot with the pickle it came from, in CPython, up to what a store does not keep. Shares no
 * code with either side.
 */
import { python } from './python-truth.js';

/**
 * Usage: COMPARE pickle json ; prints nothing if they are equal, else the first places that are not. Each line of
 * `expected` is one thing that is known to be lost; whatever else differs is a failure.
 */
const COMPARE = `
import gc, json, pickle, sys
class Restricted(pickle.Unpickler):
    def find_class(self, module, name): raise pickle.UnpicklingError('refused')
ACTIONS = {'alloc', 'free_requested', 'free_completed', 'segment_alloc', 'segment_free', 'segment_map', 'segment_unmap', 'snapshot', 'oom',
           'user_defined', 'annotate', 'workspace_snapshot', 'empty_cache'}
ENTRY = {'action', 'addr', 'size', 'stream', 'time_us', 'compile_context', 'user_metadata', 'frames', 'pool_id', 'device_free'}
SEGMENT = {'device', 'address', 'total_size', 'allocated_size', 'active_size', 'requested_size', 'stream', 'segment_type', 'segment_pool_id', 'is_expandable', 'frames', 'blocks'}
BLOCK = {'address', 'size', 'requested_size', 'state', 'frames', 'history'}
TOP = {'segments', 'device_traces', 'allocator_settings', 'external_annotations'}
shared = {}                                                                       # a pickle has each stack once
def plain(v, key=None):
    if isinstance(v, (list, tuple)):
        if key != 'frames': return [plain(x) for x in v]
        if id(v) not in shared: shared[id(v)] = [plain(x) for x in v]
        return shared[id(v)]
    if isinstance(v, dict): return {str(k): plain(x, k) for k, x in v.items()}
    return v
cleaned = set()
def frames(holder):
    stack = holder.get('frames', [])
    if id(stack) in cleaned: return
    if stack: cleaned.add(id(stack))
    for f in stack:
        for k in list(f):
            if k not in ('name', 'filename', 'line'): del f[k]                    # fx_* keys
        if not 0 <= f['line'] < 2**31: f['line'] = 0                              # -1 as an unsigned number
def signed(v): return (v + 2**63) % 2**64 - 2**63
def setting(v):
    if isinstance(v, dict):
        return {k: setting(x) for k, x in v.items() if x is not None}             # None
    if isinstance(v, float) and v.is_integer(): return int(v)
    return v
def expected(top):
    for s in top['segments'] if isinstance(top, dict) else top:
        for k in set(s) - SEGMENT: del s[k]                                       # unknown keys of segments and blocks
        frames(s)
        s.setdefault('device', 0)
        s['address'] %= 2**64
        if 'stream' in s: s['stream'] = signed(s['stream'])                       # unsigned 64-bit handles
        if s.get('segment_type') not in ('small', 'large'): s.pop('segment_type', None)
        at = s['address']
        for b in s['blocks']:
            at = b.get('address', at)
            for k in set(b) - BLOCK: del b[k]
            if 'address' in b: b['address'] %= 2**64
            if b['state'] == 'active_awaiting_free': b['state'] = 'active_pending_free'
            if 'history' in b:
                if b['state'] == 'inactive': del b['history']                     # earlier users of a block
                else:
                    b['history'] = [{k: v for k, v in b['history'][0].items() if k in ('addr', 'real_size', 'frames')}]
                    b['history'][0]['addr'] = at % 2**64                          # of the newest user, which is the block's
                    frames(b['history'][0])
            at += b['size']
            frames(b)
    if not isinstance(top, dict): return top
    for trace in top.get('device_traces', []):
        for e in trace:
            frames(e)
            e.setdefault('size', 0)
            if 'addr' in e: e['addr'] %= 2**64
            for k in ('stream', 'time_us'):
                if k in e: e[k] = signed(e[k])
    settings = setting(top.get('allocator_settings', {}))
    for k in set(top) - TOP: settings[k] = top.pop(k)                             # unknown keys beside the settings stand among them
    if 'allocator_settings' in top: top['allocator_settings'] = settings
    for a in top.get('external_annotations', []):
        if a['stage'] not in ('START', 'END'): a['stage'] = 'other'
    return top
differences = []
def plainly_same(a, b): return a == b and all(type(f['line']) is int for f in b)       # True is 1 to ==
def compare(a, b, path):
    if len(differences) >= 5: return
    if isinstance(a, dict) and isinstance(b, dict):
        for k in sorted(a.keys() | b.keys()):
            if k not in a: differences.append('%s has %s more: %.100r' % (path, k, b[k]))
            elif k not in b: differences.append('%s lacks %s: %.100r' % (path, k, a[k]))
            elif k != 'frames' or not plainly_same(a[k], b[k]): compare(a[k], b[k], path + '.' + k)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b): differences.append('%s has %d items, not %d' % (path, len(b), len(a)))
        for n, (x, y) in enumerate(zip(a, b)): compare(x, y, '%s[%d]' % (path, n))
    elif a != b or isinstance(a, bool) != isinstance(b, bool): differences.append('%s is %.100r, not %.100r' % (path, b, a))
gc.disable()                                                                      # nothing here has cycles
with open(sys.argv[1], 'rb') as f: held = Restricted(f).load()                    # kept: plain goes by identity
want = expected(plain(held))
with open(sys.argv[2], encoding='utf8') as f: got = json.load(f)
if isinstance(want, dict) and isinstance(got, dict):
    a, b = want.setdefault('device_traces', []), got['device_traces']
    for short, long in ((a, b), (b, a)):
        while len(short) < len(long) and not any(long[len(short):]): short.append([])   # idle devices at the end
compare(want, got, '')
print('\\n'.join(differences))
`;

/** Where the JSON differs from the pickle; empty if it does not. */
export function snapshotDifferences(pickle: string, json: string): string[] {
  return python(COMPARE, [pickle, json])
    .split('\n')
    .filter((line) => line !== '');
}
