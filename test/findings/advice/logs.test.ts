/** Advice on logs: against settings in force, needs, and what runs with the trainer. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runsOfFiles } from '../verdict/runs-of-files.js';

interface Case {
  readonly case: string;
  readonly log: readonly string[];
  readonly is?: object;
  readonly offers?: readonly string[];
  readonly omits?: readonly string[];
  readonly useless?: readonly string[];
  readonly next?: readonly string[];
  readonly evidence?: readonly string[];
  readonly pastes?: Readonly<Record<string, readonly string[]>>;
  readonly titles?: Readonly<Record<string, string>>;
}

const GROUPS = parse(readFileSync(new URL('logs.yaml', import.meta.url), 'utf8')) as Record<string, readonly Case[]>;

const message = (request: string, allocated: string, cached: string): string =>
  `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${request}. GPU 0 has a total capacity of 79.11 GiB ` +
  'of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the ' +
  `allocated memory ${allocated} is allocated by PyTorch, and ${cached} is reserved by PyTorch but unallocated.`;
const shared = (other: string, own: string): string =>
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 79.11 GiB of ' +
  `which 1.00 GiB is free. Process ${other} has 30.00 GiB memory in use. Process ${own} has 48.00 GiB memory in use. ` +
  'Of the allocated memory 46.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.';

const contexts =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 23.65 GiB of ' +
  'which 93.81 MiB is free. Process 1 has 398.00 MiB memory in use. Process 3 has 398.00 MiB memory in use. Process 4 ' +
  'has 398.00 MiB memory in use. Process 2 has 22.37 GiB memory in use. Of the allocated memory 21.90 GiB is allocated ' +
  'by PyTorch, and 2.30 MiB is reserved by PyTorch but unallocated.';
const small =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 260.00 MiB. GPU 0 has a total capacity of 21.95 GiB of ' +
  'which 202.62 MiB is free. Process 77 has 18.46 GiB memory in use. Including non-PyTorch memory, this process has ' +
  '3.28 GiB memory in use. Of the allocated memory 2.96 GiB is allocated by PyTorch, and 12.47 MiB is reserved by ' +
  'PyTorch but unallocated.';

const lineOf = (text: string): string =>
  text
    .replace(/^OOM$/, message('12.00 GiB', '76.00 GiB', '512.00 MiB'))
    .replace(/^CONTEXTS$/, contexts)
    .replace(/^SMALL 77$/, small)
    .replace(/^IN_PIECES$/, message('4.00 GiB', '60.00 GiB', '16.00 GiB'))
    .replace(/^SCORES$/, message('30.00 GiB', '50.00 GiB', '512.00 MiB'))
    .replace(/SHARED (\d+) (\d+)$/, (_, other: string, own: string) => shared(other, own));
const nameOf = (text: string): string => text.replaceAll(/\W+/g, '-');

const { diagnosed } = runsOfFiles(
  Object.fromEntries(
    Object.values(GROUPS).flatMap((cases) =>
      cases.map((one) => [nameOf(one.case), { 'train.log': one.log.map((line) => `${lineOf(line)}\n`).join('') }]),
    ),
  ),
);

describe.each(Object.entries(GROUPS))('%s', (_, cases) => {
  it.each(cases)('$case', async ({ case: name, is = {}, offers = [], omits = [], useless = [], next = [], ...one }) => {
    const { verdicts, advice } = await diagnosed(nameOf(name), { advises: true });
    const [verdict] = verdicts;
    expect(verdict).toMatchObject(is);
    const ids = advice!.fixes.filter(({ status }) => status !== 'forbidden').map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining([...offers]));
    expect(ids.filter((id) => omits.includes(id))).toEqual([]);
    expect(advice!.non_fixes).toEqual(expect.arrayContaining([...useless]));
    for (const [id, lines] of Object.entries(one.pastes ?? {})) {
      const { sbatch, trainer, python } = advice!.fixes.find((fix) => fix.id === id)!.paste;
      expect([...sbatch, ...trainer, ...python], id).toEqual(lines);
    }
    for (const [id, title] of Object.entries(one.titles ?? {}))
      expect(advice!.fixes.find((fix) => fix.id === id)?.title).toContain(title);
    const evidence = verdict!.evidence.map(({ text }) => text).join('\n');
    for (const text of one.evidence ?? []) expect(evidence).toContain(text);
    const texts = verdict!.next.join('\n');
    for (const expected of next) {
      if (expected.startsWith('!')) expect(texts).not.toContain(expected.slice(1));
      else expect(texts).toContain(expected);
    }
  });
});
