import { realpathSync } from 'node:fs';
import { checkLake } from '../../../lake/lake-files.js';
import { lakeViews } from '../../../lake/lake-views.js';
import { defineVerb } from '../../define-verb.js';
import { operand } from '../../options.js';

export const lakeViewsVerb = defineVerb({
  name: 'lake views',
  lakeless: true,
  operands: { lake: operand('<lake>', 'the directory of the lake') },
  ask({ lake }) {
    checkLake(lake);
    const place = realpathSync(lake);
    const statements = lakeViews(place);
    return { schema: 'mbforensics/lake-views@1', lake: place, statements } as const;
  },
  render: ({ statements }) => `${statements.join(';\n')};\n`,
});
