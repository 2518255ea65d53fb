/** What every SARIF 2.1.0 file of ours has alike. OASIS, Static Analysis Results Interchange Format 2.1.0. */
import { tidy } from './plain-text.js';

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
/** Paths are relative to the root of the checkout. */
const ROOT = '%SRCROOT%';

export interface SarifMessage {
  readonly text: string;
}

export interface SarifLocation {
  readonly id?: number;
  readonly message?: SarifMessage;
  readonly physicalLocation?: {
    readonly artifactLocation: { readonly uri: string; readonly uriBaseId?: string };
    readonly region?: { readonly startLine: number; readonly endLine?: number };
  };
  readonly logicalLocations?: readonly { readonly name: string }[];
}

export interface SarifRule {
  readonly id: string;
  readonly shortDescription: SarifMessage;
  readonly fullDescription?: SarifMessage;
  readonly help?: SarifMessage;
  readonly defaultConfiguration?: { readonly level: SarifLevel };
  readonly properties?: Readonly<Record<string, unknown>>;
}

export type SarifLevel = 'error' | 'warning' | 'note';

export interface SarifResult {
  readonly ruleId: string;
  readonly level: SarifLevel;
  readonly message: SarifMessage;
  readonly locations: readonly SarifLocation[];
  readonly relatedLocations?: readonly SarifLocation[];
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** One run of this tool. Every result's rule must be among the rules. */
export function sarifLog(
  rules: readonly SarifRule[],
  results: readonly SarifResult[],
  properties: Readonly<Record<string, unknown>>,
): object {
  const index = new Map(rules.map(({ id }, i) => [id, i]));
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'mbforensics', rules } },
        results: results.map(({ ruleId, ...rest }) => ({ ruleId, ruleIndex: index.get(ruleId)!, ...rest })),
        properties,
      },
    ],
  };
}

export function logical(name: string): SarifLocation {
  return { logicalLocations: [{ name: safe(tidy(name)) }] };
}

/** A URI with every part of the path encoded. A path outside the checkout gets no root. */
export function artifactOf(file: string): { uri: string; uriBaseId?: string } {
  const path = safe(file)
    .split('/')
    .filter((part, i) => part !== '.' && (part !== '' || i === 0))
    .map(encodeURIComponent)
    .join('/');
  return path.startsWith('/') ? { uri: `file://${path}` } : { uri: path, uriBaseId: ROOT };
}

/** Braces are doubled, as placeholders begin with one; brackets before a parenthesis would make a link. */
export function message(text: string): SarifMessage {
  return { text: safe(tidy(text)).replaceAll(/[{}]/g, '$&$&').replaceAll('](', '] (') };
}

/** A lone surrogate is invalid Unicode. */
export function safe(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, '\ufffd');
}
