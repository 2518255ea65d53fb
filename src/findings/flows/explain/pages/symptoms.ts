/** dist/docs/symptoms.md: what one sees, what it comes from, how to make sure, what to do. */
import { SYMPTOMS } from '../../../symptoms/index.js';
import { item, md, page } from './markdown.js';

export function symptomsPage(): string {
  return page([
    '# Symptoms',
    '',
    'Symptoms of the guides with their causes. `advise` looks for them in a run and carries out the confirmation where the run has what it takes; `mbforensics explain S1` prints one of them.',
    ...SYMPTOMS.flatMap(({ id, name, symptom, cause, confirm, fix }) => [
      '',
      `## ${id} ${name}`,
      '',
      md(symptom),
      '',
      ...item('cause', md(cause)),
      ...item('confirm', md(confirm)),
      ...item('fix', md(fix)),
    ]),
  ]);
}
