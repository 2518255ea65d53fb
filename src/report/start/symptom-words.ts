/** Symptoms of the guides in words. */
import { loadData } from '../../knowledge/load-data.js';
import { SYMPTOMS } from '../../knowledge/symptoms.js';
import type { SymptomHit } from '../../model/results/advise.js';
import type { SymptomSighting } from '../../model/symptom.js';
import { figuresOf, fill, wordsOf, wordTable } from '../words/fill.js';
import { worded } from '../words/worded.js';

type Answer = readonly [SymptomHit['confirmation'], string];

interface SymptomWords {
  readonly seen: string;
  readonly instead?: string;
  readonly answers?: Readonly<Record<string, Answer>>;
}

export function wordSymptom({ id, also, source, answer, figures }: SymptomSighting): SymptomHit {
  const rows = [id, ...also].map((one) => SYMPTOMS.find((row) => row.id === one)!);
  const { symptom, cause } = rows[0]!;
  const known = figuresOf(figures);
  const filled = (template: string): string => fill(template, known).replace(/^; /, '');
  const {
    seen,
    instead = '',
    answers = {},
  } = (loadData('words/symptoms') as Readonly<Record<string, SymptomWords>>)[id]!;
  const [confirmation, because] = answers[answer] ?? wordsOf(wordTable<Answer>('symptoms', 'all'), answer);
  return {
    id,
    symptom: also.length === 0 ? symptom : `${symptom} (also ${also.join(' and ')})`,
    seen: filled(seen),
    source: worded(source),
    cause,
    confirmation,
    confirmation_text: filled(because),
    fix: filled(instead) || [...new Set(rows.map(({ fix }) => fix))].join('; or: '),
  };
}
