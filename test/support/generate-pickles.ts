/**
 * Small snapshot pickles written by CPython in every way it can write them, of values torch could and some it never
 * would.
 */
import { python } from './python-truth.js';

/**
 * Usage: GENERATE directory seed. Values come from a seeded generator; `big` holds what one window of the reader does
 * not. Written as NAME.pickle; prints the names, one a line.
 */
const GENERATE = `
import io, os, pickle, pickletools, random, sys
directory, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
MIB = 2**20

def shuffled(d, order):
    items = list(d.items())
    if order == 'reversed': items.reverse()
    if order == 'shuffled': rng.shuffle(items)
    return dict(items)

def frame(i):
    return {'name': 'f%d' % i, 'filename': rng.choice(['/opt/a.py', 'b\\u00e9.py', '??', '']) , 'line': rng.choice([0, 1, i, 2**31 - 1])}

def fresh(v):
    "an equal string that is another object"
    return ''.join(list(v)) if len(v) > 1 else v

def snapshot(entries=400, devices=2, order='as torch', frames='mixed', addresses='usual', metadata=False, contexts=True, times=True, pools=False,
             annotations=5, streams=(0,), blocks=4, segments=6, settings=True, unknown=False, ooms=True, shared_lists=True, odd_actions=False):
    pool = [frame(i) for i in range(12)]
    lists = [[rng.choice(pool) for _ in range(rng.choice([0, 1, 1, 2, 3, 9, 40]))] for _ in range(20)]
    def stack(d):
        if frames == 'none': return d
        if frames == 'mixed' and rng.random() < 0.1: return d
        if frames == 'empty': d['frames'] = []
        elif frames == 'one': d['frames'] = [rng.choice(pool)]
        elif frames == 'inline': d['frames'] = [dict(f) for f in rng.choice(lists)]
        else:
            chosen = rng.choice(lists)
            d['frames'] = chosen if shared_lists and rng.random() < 0.5 else list(chosen)
        return d
    def address():
        base = {'usual': 0x7f0000000000, 'small': 0, 'beyond 2^53': 2**53 + 1, 'beyond 2^55': 2**55 + 2**20 + 1, 'beyond 2^63': 2**63 + 2**20 + 1, 'negative': -2**40}[addresses]
        return base + 512 * rng.randrange(1, 2**20)
    segment_list = []
    at = 0x7f0000000000
    for n in range(segments):
        sizes = [512 * rng.randrange(1, 5000) for _ in range(blocks)]
        total = sum(sizes)
        states = [rng.choice(['active_allocated', 'inactive', 'active_pending_free', 'active_awaiting_free']) for _ in sizes]
        rows, here = [], at
        for s, state in zip(sizes, states):
            rows.append(shuffled(stack({'address': here, 'size': s, 'requested_size': rng.randrange(1, s + 1), 'state': state}), order))
            here += s
        segment_list.append(shuffled(stack({'device': n % devices, 'address': at, 'total_size': total,
            'allocated_size': sum(s for s, t in zip(sizes, states) if t == 'active_allocated'),
            'active_size': sum(s for s, t in zip(sizes, states) if t != 'inactive'), 'requested_size': 7, 'stream': rng.choice(streams),
            'segment_type': rng.choice(['small', 'large', 'other']), 'segment_pool_id': (0, 0) if n % 2 == 0 else (n, 300), 'is_expandable': n % 3 == 0,
            'blocks': rows}), order))
        at += total
    traces = []
    for device in range(devices):
        trace = []
        clock = 1_700_000_000_000_000
        for n in range(0 if device == devices - 1 and devices > 1 else entries):
            clock += rng.randrange(0, 500)
            e = {'action': rng.choice(['alloc', 'free_requested', 'free_completed', 'segment_alloc', 'segment_map', 'segment_unmap', 'segment_free', 'snapshot']),
                 'addr': address(), 'size': rng.choice([0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**40, 2**53 - 1, rng.randrange(2**20)]), 'stream': rng.choice(streams)}
            if times and not (times == 'sometimes' and rng.random() < 0.5): e['time_us'] = clock
            if contexts: e['compile_context'] = fresh(rng.choice(['N/A', '0/0', 'b']))
            if metadata: e['user_metadata'] = rng.choice([fresh('lr=0.1'), '', 'x' * 300, 'm\\u00fc\\u4e2d\\U0001F600', 'lr=0.1'])
            if pools: e['pool_id'] = rng.choice([(0, 0), (1, 0), (0, 3), (256, 0), (70000, 2)])
            stack(e)
            if ooms and n % 97 == 50:
                e['action'] = 'oom'
                del e['addr']
                e['device_free'] = rng.randrange(2**36)
            if odd_actions and n % 53 == 7: e['action'] = 'mystery_%d' % (n % 2)
            if unknown and n % 31 == 3: e['color'] = rng.choice(['red', 7, [1, 2], {'k': None}, True])
            if unknown and n % 41 == 5: del e['size']
            trace.append(shuffled(e, order))
        traces.append(trace)
    d = {'segments': segment_list, 'device_traces': traces}
    if settings:
        d['allocator_settings'] = {'PYTORCH_CUDA_ALLOC_CONF': '', 'max_split_size': -1, 'garbage_collection_threshold': 0.0, 'expandable_segments': False,
            'roundup_power2_divisions': {str(2**i): i for i in range(16)}, 'ratio': 0.8, 'nothing': None, 'list': [1, True, 'a']}
    if annotations:
        d['external_annotations'] = [shuffled({'stage': rng.choice(['START', 'END', 'PAUSE']), 'name': 'scope%d' % (i % 3), 'device': i % devices,
            'time_us': 1_700_000_000_000_000 + i}, order) for i in range(annotations)]
    if unknown: d['build'] = {'commit': 'abc', 'n': 3}
    return shuffled(d, order) if order != 'as torch' else d

class Batched(pickle._Pickler):
    "list batches of another length; dict batches stay whole, since no writer splits a row"
    def __init__(self, f, protocol, batch): super().__init__(f, protocol); self.list_batch = batch
    def _batch_appends(self, items):
        self._BATCHSIZE = self.list_batch
        try: super()._batch_appends(items)
        finally: self._BATCHSIZE = 1000
    def _batch_setitems(self, items, *rest):
        self._BATCHSIZE = 1000
        try: super()._batch_setitems(items, *rest)
        finally: self._BATCHSIZE = self.list_batch

def c(value, protocol): return pickle.dumps(value, protocol)
def pure(value, protocol):
    f = io.BytesIO(); pickle._Pickler(f, protocol).dump(value); return f.getvalue()
def batched(value, protocol, batch):
    f = io.BytesIO(); Batched(f, protocol, batch).dump(value); return f.getvalue()
def unshared(value, protocol):
    f = io.BytesIO(); p = pickle.Pickler(f, protocol); p.fast = True; p.dump(value); return f.getvalue()

names = []
def write(name, data):
    with open(os.path.join(directory, name + '.pickle'), 'wb') as f: f.write(data)
    names.append(name)

for protocol in (2, 3, 4, 5):
    write('c-%d' % protocol, c(snapshot(), protocol))
    write('pure-%d' % protocol, pure(snapshot(), protocol))
    write('optimized-%d' % protocol, pickletools.optimize(c(snapshot(), protocol)))
    write('unshared-%d' % protocol, unshared(snapshot(entries=150), protocol))
    for batch in (1, 2, 7, 10**9): write('batch%d-%d' % (min(batch, 9999), protocol), batched(snapshot(entries=120), protocol, batch))
    write('metadata-pools-%d' % protocol, c(snapshot(metadata=True, pools=True), protocol))
for order in ('reversed', 'shuffled'):
    for protocol in (2, 4): write('%s-%d' % (order, protocol), c(snapshot(order=order, metadata=True, pools=True, unknown=True), protocol))
for kind in ('none', 'empty', 'one', 'inline', 'mixed', 'all'): write('frames-' + kind, c(snapshot(frames=kind), 4))
for kind in ('small', 'beyond 2^53', 'beyond 2^55', 'beyond 2^63', 'negative'): write('addresses-' + kind.replace(' ', '-').replace('^', ''), c(snapshot(addresses=kind), 4))
for protocol in (2, 4):
    write('streams-%d' % protocol, c(snapshot(streams=(0, -1, 7, -2**33, 2**40, -2**40, -2**50, 2**53 + 1, -2**60, 0x7fff00000010)), protocol))
write('no-times', c(snapshot(times=False, contexts=False), 4))
write('some-times', c(snapshot(times='sometimes'), 4))
write('one-device', c(snapshot(devices=1), 4))
write('one-entry', c(snapshot(devices=1, entries=1, ooms=False), 4))
write('one-entry-of-eight', c(snapshot(devices=8, entries=1, ooms=False), 4))
write('empty-traces', c(snapshot(entries=0), 4))
write('no-segments', c(snapshot(segments=0, entries=30), 4))
write('empty-segment', c(snapshot(blocks=0), 4))
write('nothing', c({'segments': [], 'device_traces': []}, 4))
write('bare-list', c(snapshot()['segments'], 4))
write('empty-list', c([], 4))
write('unknown-things', c(snapshot(unknown=True, odd_actions=True), 4))
write('pure-unknown-things', pure(snapshot(unknown=True, odd_actions=True, metadata=True), 2))
for length in (1, 2, 999, 1000, 1001, 1002, 2000, 2001):
    write('length-c-%d' % length, c(snapshot(devices=1, entries=length, blocks=length, segments=2, annotations=length, frames='empty'), 4))
    write('length-pure-%d' % length, pure(snapshot(devices=1, entries=length, blocks=3, segments=length, annotations=length, frames='empty'), 2))
write('many-segments', c(snapshot(segments=9001, blocks=2, entries=10, frames='none'), 4))
deep = snapshot(entries=50)
deep['device_traces'][0][3]['frames'] = [frame(i) for i in range(2500)]
deep['device_traces'][0][4]['frames'] = list(deep['device_traces'][0][3]['frames'])
write('deep-stack', c(deep, 4))
old = snapshot(entries=20)
for s in old['segments']:
    for k in ('segment_pool_id', 'is_expandable', 'requested_size', 'stream', 'frames'): s.pop(k, None)
    for b in s['blocks']:
        for k in ('address', 'frames', 'requested_size'): b.pop(k, None)
        if b['state'] != 'inactive': b['history'] = [{'addr': 1, 'real_size': 77, 'frames': [frame(1), frame(2)]}, {'addr': 1, 'real_size': 3, 'frames': []}]
write('history', c(old['segments'], 4))
big = snapshot(entries=1, devices=1)
shared = big['device_traces'][0][0].get('frames', [])
trace = []
for n in range(130000):
    e = {'action': ('alloc', 'free_requested', 'free_completed')[n % 3], 'addr': 0x7f0000000000 + 512 * (n // 3 % 5000), 'size': n * 7919 % 2**33, 'stream': 0, 'time_us': 1_700_000_000_000_000 + n,
         'compile_context': fresh('N/A'), 'frames': list(shared) if n % 5 else [dict(f) for f in shared[:3]]}
    if n % 1009 == 0: e['user_metadata'] = 'y' * (n % 20000)
    if n == 70001: e['user_metadata'] = 'z' * 5_000_000
    trace.append(e)
big['device_traces'] = [trace]
write('big', c(big, 4))
print('\\n'.join(names))
`;

export function generatePickles(directory: string, seed: number): string[] {
  return python(GENERATE, [directory, String(seed)])
    .trim()
    .split('\n');
}
