/** Reads `call-trees.tsv`: sections of call trees whose frames carry the names of allocation sites. */
import { readFileSync } from 'node:fs';
import type { CallPath } from '../code-line.js';
import { AUTOGRAD, at, BRIDGE, MEGATRON_LM, MODULE_CALL, PACKAGES, TE } from './sources.js';

interface Frame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly source: string;
}

/** Frames of a site, innermost first. A frame without a file is the name of another path. */
type Section = ReadonlyMap<string, readonly Frame[]>;

const SECTIONS = readSections(readFileSync(new URL('call-trees.tsv', import.meta.url), 'utf8'));

function readSections(text: string): ReadonlyMap<string, Section> {
  const sections = new Map<string, Map<string, readonly Frame[]>>();
  let sites = new Map<string, readonly Frame[]>();
  let open: Frame[] = [];
  for (const line of text.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [first = '', file = '', number = '', source = '', labels = ''] = line.split('\t');
    const [, title] = /^\[(.*)\]$/.exec(first) ?? [];
    if (title !== undefined) {
      // Sites without a frame.
      sites = new Map(file.split(' ').flatMap((site) => (site === '' ? [] : [[site, []]])));
      sections.set(title, sites);
      continue;
    }
    const name = first.trimStart();
    open = [{ name, file, line: Number(number), source }, ...open.slice(open.length - (first.length - name.length))];
    for (const site of labels.split(' ')) if (site !== '') sites.set(site, open);
  }
  return sections;
}

export type Sites<Name extends string> = Readonly<Record<Name, CallPath>>;

/** Where the files of a run are, and the paths that a section refers to as `$name`. */
export interface Around {
  /** `…/megatron/core/`. */
  readonly core: string;
  readonly script?: string;
  readonly paths?: Readonly<Record<string, CallPath>>;
}

export function sitesOf<Name extends string>(section: string, { core, script = '', paths = {} }: Around): Sites<Name> {
  const directories: Readonly<Record<string, string>> = {
    ...{ core, te: TE, site: PACKAGES, bridge: BRIDGE, mlm: MEGATRON_LM, job: '/nemo_run/code/' },
  };
  const others: Readonly<Record<string, CallPath>> = { ...paths, module: MODULE_CALL, autograd: AUTOGRAD };
  const expand = ({ name, file, line, source }: Frame): CallPath => {
    if (file === '') return others[name.slice(1)]!;
    const slash = file.indexOf('/');
    const path = directories[file.slice(0, slash)]! + file.slice(slash + 1).replace('$script', script);
    return [at(name, path, line, source)];
  };
  const entries = [...SECTIONS.get(section)!].map(([site, frames]) => [site, frames.flatMap(expand)] as const);
  return Object.fromEntries(entries) as unknown as Sites<Name>;
}
