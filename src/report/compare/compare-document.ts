/**
 * A run against its golden values: whether it is worse, whether the two may be compared at all, what grew, and what may
 * be why.
 */
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import type { CompareCheck, CompareResult } from '../../model/results/compare.js';
import * as d from '../document/document.js';
import { isOdd, isOfGate, runWords } from './check-words.js';
import { contractValue, contractWords, refusalWords } from './contract-words.js';
import * as difference from './difference.js';
import type { ReportedComparison } from './reported-comparison.js';

export interface CompareLook {
  /** Call sites to list; 0: all. */
  readonly limit?: number | undefined;
}

const SIDES: difference.Sides = ['golden', 'current'];
const SITES_SHOWN = 6;
const PARTS_SHOWN = 8;
/** A stage whose relative change is within this of the total's is not shown. */
const ASIDE = 0.01;

export function compareDocument(result: CompareResult, { limit = SITES_SHOWN }: CompareLook = {}): d.Document {
  const { schema, preset, checks, refused, components, sites, config, env, notes } = result;
  const { gate, parts, ungated } = splitChecks(result);
  return d.document(
    schema,
    verdictTitle('compare', result.verdict, preset === 'default' ? '' : ` (preset ${preset})`),
    ...headParts(result, d.t`${runWords(result.current, false)} against ${runWords(result.golden, true)}`),
    contractSection(result),
    difference.checksTable(gate, { sides: SIDES, preset }),
    checks.length === 0 && refused === null && d.paragraph('no figures were compared'),
    d.section('By stage and rank', {}, ...partsOf(result, parts)),
    d.section(
      'Informative',
      { isFolded: true },
      difference.checksTable(ungated, { sides: SIDES, preset, key: 'informative' }),
    ),
    difference.componentsSection(components, SIDES),
    difference.grownSites(sites, SIDES, limit === 0 ? Number.MAX_SAFE_INTEGER : limit, '--limit 0 shows all'),
    difference.changedSection('Settings', 'config', config, SIDES),
    difference.changedSection('Environment', 'env', env.toSorted(byAllocator), SIDES),
    difference.suspectsSection(result),
    difference.notesSection(notes),
  );
}

/** Those of the allocator first. */
const byAllocator = (a: { readonly key: string }, b: { readonly key: string }): number =>
  Number(ALLOCATOR_VARIABLES.includes(b.key)) - Number(ALLOCATOR_VARIABLES.includes(a.key));

const TONES: Readonly<Record<string, d.Tone>> = {
  ...{ pass: 'good', updated: 'good', fixed: 'good', found: 'good' },
  ...{ regression: 'bad', worse: 'bad', no_effect: 'bad', not_active: 'bad' },
};

/** `gate: regression`. */
export const verdictTitle = (verb: string, verdict: string, after = ''): d.Text =>
  d.t`${verb}: ${d.as('verdict', d.mark(verdict.replaceAll('_', ' '), TONES[verdict] ?? 'unsure'))}${after}`;

/** Why, what was compared, and why nothing was judged. */
export function headParts({ summary, refused, contract }: ReportedComparison, runs: d.Text): d.MaybePart[] {
  const refusal = refusalWords(refused, contract);
  return [
    summary !== '' && refused === null && d.paragraph(difference.longText(summary), { style: 'lead', key: 'summary' }),
    refusal !== null &&
      d.paragraph(d.t`${d.mark('Refused', 'bad')}: ${difference.longText(refusal.reason)}; ${refusal.remedy}`, {
        key: 'refused',
      }),
    d.paragraph(runs, { key: 'runs' }),
  ];
}

export function contractSection({ contract, refused }: ReportedComparison): d.MaybePart {
  const { different, same, not_compared: missing } = contractWords(contract);
  const isIgnored = refused === null && different.some(({ blocking }) => blocking);
  return d.section(
    isIgnored ? 'Contract, broken: different configurations are compared nevertheless' : 'Contract',
    { isFolded: refused === null },
    d.table(
      different,
      [
        d.column('kind', ({ blocking }) => (blocking ? d.mark('blocking', 'bad') : 'differs'), { title: '' }),
        d.column('group', ({ group }) => group),
        d.names('key', ({ key }) => key),
        ...SIDES.map((side) =>
          d.names<(typeof different)[number]>(side, (one) => contractValue(one, one[side as 'golden' | 'current'])),
        ),
      ],
      { key: 'contract' },
    ),
    same.length > 0 && d.note(`same: ${same.join(', ')}`, { key: 'same' }),
    missing.length > 0 && d.note(`unknown in one of the two: ${missing.join(', ')}`, { key: 'not_compared' }),
  );
}

interface SplitChecks {
  readonly gate: readonly CompareCheck[];
  /** `peak_allocated:stage 0`: the same figure of a stage or rank, gate or not. */
  readonly parts: readonly CompareCheck[];
  readonly ungated: readonly CompareCheck[];
}

function splitChecks({ checks, components }: CompareResult): SplitChecks {
  const totals = new Set(checks.map(({ name }) => name));
  const parts = checks.filter(({ name }) => totals.has(wholeOf(name)));
  const wholes = checks.filter((check) => !parts.includes(check));
  // Components that passed are listed with the differences of components.
  const isPassedComponent = (check: CompareCheck): boolean =>
    check.name.startsWith('component:') && !isOdd(check) && components.length > 0;
  return {
    gate: wholes.filter(isOfGate),
    parts,
    ungated: wholes.filter((check) => !isOfGate(check) && !isPassedComponent(check)),
  };
}

/** `peak_allocated` of `peak_allocated:stage 0`; empty for a whole. */
const wholeOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf(':')));

/** The stages and ranks that differ from the total, and the number of those that do not. */
function partsOf({ checks, preset }: CompareResult, parts: readonly CompareCheck[]): d.MaybePart[] {
  const shown = [...new Set(parts.map(({ name }) => wholeOf(name)))].flatMap((whole) =>
    differingParts(
      checks.find(({ name }) => name === whole)!,
      parts.filter(({ name }) => wholeOf(name) === whole),
    ),
  );
  const hidden = parts.filter((part) => !shown.includes(part));
  const counts = [...new Set(hidden.map(({ status }) => status))].map((status) =>
    d.counted(hidden.filter((part) => part.status === status).length, status, status),
  );
  const remainder = d.t`${shown.length === 0 ? 'no more than the total' : 'the others'}: ${d.joined(counts, ', ')}`;
  return [
    difference.checksTable(shown, { sides: SIDES, preset, key: 'parts' }),
    hidden.length > 0 && d.note(remainder, { key: 'other_parts' }),
  ];
}

function differingParts(total: CompareCheck, parts: readonly CompareCheck[]): readonly CompareCheck[] {
  const isAlike = (part: CompareCheck): boolean =>
    part.status === 'skipped' ||
    (part.status === total.status &&
      (part.relative === null || total.relative === null || Math.abs(part.relative - total.relative) <= ASIDE));
  const unlike = parts.filter((part) => !isAlike(part));
  if (unlike.length === 0) return [];
  const odd = parts.filter((part) => isOdd(part) && part.status !== 'skipped');
  const change = ({ relative }: CompareCheck): number => Math.abs(relative ?? 0);
  const shown = odd.length > 0 ? odd : unlike.toSorted((a, b) => change(b) - change(a)).slice(0, 1);
  return shown.slice(0, PARTS_SHOWN);
}
