/** Names of settings of Megatron-LM and Megatron Bridge, with the releases that have them: `upstream-names.yaml`. */
import { loadData } from './load-data.js';

interface Group {
  readonly of: string;
  readonly source: string;
  readonly bridge?: string;
  readonly since?: Readonly<Record<string, readonly string[]>>;
  readonly gone?: Readonly<Record<string, readonly string[]>>;
  readonly no_argument?: readonly string[];
  readonly names?: readonly string[];
}

export interface UpstreamName {
  readonly name: string;
  /** The class that has the field, or that it is an argument. */
  readonly of: string;
  readonly source: string;
  /** First release of Megatron-Core, `dev`: its development branch only; null: of Megatron Bridge. */
  readonly since: string | null;
  /** First release without it; null: the newest has it. */
  readonly gone: string | null;
  /** Where Megatron Bridge has it. */
  readonly bridge: string | null;
  /** The flag of Megatron-LM. */
  readonly flag: string | null;
}

const groups = (): readonly Group[] => loadData('upstream-names') as readonly Group[];

let names: ReadonlyMap<string, UpstreamName> | undefined;

export function upstreamNames(): ReadonlyMap<string, UpstreamName> {
  names ??= new Map(
    groups()
      .flatMap(namesOf)
      .map((one) => [one.name, one]),
  );
  return names;
}

function namesOf({ of, source, bridge, since = {}, gone = {}, no_argument = [], names: unversioned = [] }: Group) {
  const goneIn = new Map(Object.entries(gone).flatMap(([release, list]) => list.map((name) => [name, release])));
  const releases = [...Object.entries(since), [null, unversioned] as const];
  return releases.flatMap(([release, list]) =>
    list.map((name): UpstreamName => {
      const isFlag = release !== null && !no_argument.includes(name);
      return {
        ...{ name, of, source, since: release, gone: goneIn.get(name) ?? null },
        bridge: bridge === undefined || goneIn.has(name) || release === 'dev' ? null : `${bridge}.${name}`,
        flag: isFlag ? `--${name.replaceAll('_', '-')}` : null,
      };
    }),
  );
}

/** A section of the configuration of Megatron Bridge. */
export function isBridgeSection(name: string): boolean {
  return groups().some(({ bridge }) => bridge === `cfg.${name}`);
}

/** By its own name; an alias is known to `config-keys.ts`. */
export function upstreamName(rawKey: string): UpstreamName | undefined {
  const name = rawKey.replace(/^-+/, '').replaceAll('-', '_');
  return upstreamNames().get(name) ?? upstreamNames().get(name.split(/[./]/).at(-1) ?? '');
}

/** `Megatron-Core ≥ 0.19`; empty for what every release has. */
export function releaseText({ since, gone }: UpstreamName): string {
  if (since === 'dev') return 'only on the development branch of Megatron-Core';
  const from = since === null || since === '0.15' ? '' : `≥ ${since}`;
  const range = [from, gone === null ? '' : `< ${gone}`].filter((part) => part !== '').join(', ');
  return range === '' ? '' : `Megatron-Core ${range}`;
}
