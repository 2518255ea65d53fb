/** Reads a pprof file with nothing but Python's standard library: gzip, and the wire format of protocol buffers. */
import { python } from './python-truth.js';

export interface PythonPprof {
  readonly sample_types: readonly (readonly [string, string])[];
  readonly default_type: string;
  readonly period_type: readonly [string, string];
  readonly time_nanos: number;
  readonly comments: readonly string[];
  readonly first_string: string;
  readonly mappings: number;
  /** Names root first, joined by `;`, and the values. */
  readonly samples: readonly {
    readonly stack: string;
    readonly values: readonly number[];
    readonly labels: Readonly<Record<string, string>>;
  }[];
}

/**
 * Field numbers: Profile 1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 string_table, 9 time_nanos, 11
 * period_type, 13 comment, 14 default_sample_type.
 */
const READ = `
import gzip, json, sys
def varint(b, at):
    value = shift = 0
    while True:
        byte = b[at]; at += 1
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: return value, at
def fields(b):
    at, out = 0, {}
    while at < len(b):
        key, at = varint(b, at)
        number, wire = key >> 3, key & 7
        if wire == 0: value, at = varint(b, at)
        elif wire == 2:
            length, at = varint(b, at)
            value = b[at:at + length]; at += length
            assert len(value) == length, 'cut'
        else: raise ValueError('wire type %d' % wire)
        out.setdefault(number, []).append(value)
    return out
def numbers(values):
    out = []
    for v in values or []:
        if isinstance(v, int): out.append(v); continue
        at = 0
        while at < len(v):
            n, at = varint(v, at)
            out.append(n)
    return out
p = fields(gzip.open(sys.argv[1]).read())
strings = [s.decode('utf8') for s in p[6]]
one = lambda f, n, default=0: f.get(n, [default])[0]
kind = lambda b: [strings[one(fields(b), 1)], strings[one(fields(b), 2)]]
functions = {}
for f in map(fields, p.get(5, [])): functions[one(f, 1)] = strings[one(f, 2)]
locations = {}
for l in map(fields, p.get(4, [])):
    assert one(l, 2) in {one(fields(m), 1) for m in p[3]}, 'no mapping'
    locations[one(l, 1)] = functions[one(fields(one(l, 4)), 1)]
samples = []
for s in map(fields, p.get(2, [])):
    labels = {strings[one(l, 1)]: strings[one(l, 2)] for l in map(fields, s.get(3, []))}
    samples.append({'stack': ';'.join(reversed([locations[i] for i in numbers(s.get(1))])), 'values': numbers(s.get(2)), 'labels': labels})
print(json.dumps({'sample_types': [kind(t) for t in p[1]], 'default_type': strings[one(p, 14)], 'period_type': kind(p[11][0]), 'time_nanos': one(p, 9),
    'comments': [strings[n] for n in numbers(p.get(13))], 'first_string': strings[0], 'mappings': len(p.get(3, [])), 'samples': samples}))
`;

export function readPprof(file: string): PythonPprof {
  return JSON.parse(python(READ, [file])) as PythonPprof;
}
