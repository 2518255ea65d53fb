/** One statement of a guide, and what became of it. */
import type { EvidenceGrade } from '../../../model/advise-results.js';
import type { GuideId } from '../../../model/knowledge-results.js';

export interface Statement {
  readonly id: string;
  readonly text: string;
  /** When it applies; null: always, or not said. */
  readonly applies: string | null;
  /** Effect on memory, as the guide has it; null: it says nothing. A question mark is our inference. */
  readonly memory: string | null;
  readonly speed: string | null;
  /** As in {@link EvidenceGrade}, `+` where there are several; `procedure`: how to test. */
  readonly evidence: string;
  readonly grade: EvidenceGrade;
  readonly sources: readonly GuideId[];
  /** Whether it is still true upstream; null: nothing to check. */
  readonly today: string | null;
}

const BEST: readonly EvidenceGrade[] = ['measured', 'asserted', 'config', 'documented'];

/** The columns of the tables, in their order. */
export function said(
  id: string,
  text: string,
  applies: string | null,
  memory: string | null,
  speed: string | null,
  evidence: string,
  sources: readonly GuideId[],
  today: string | null,
): Statement {
  const grade = BEST.find((one) => evidence.includes(one)) ?? 'documented';
  return { id, text, applies, memory, speed, evidence, grade, sources, today };
}
