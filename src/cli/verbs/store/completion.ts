import type { CompletionResult } from '../../../model/results/doctor.js';
import { completionScript, manPage, SHELLS } from '../../completion.js';
import { defineVerb } from '../../define-verb.js';
import { oneOf, operand } from '../../options.js';
import { version } from '../../version.js';

export const verb = defineVerb({
  name: 'completion',
  storeless: true,
  operands: { what: operand('<shell>', 'bash, zsh, fish, or man for the man page', oneOf([...SHELLS, 'man'])) },
  ask({ what }, session): CompletionResult {
    // Of `doctor completion`, the program is above `doctor`.
    const program = session.program.parent ?? session.program;
    const text = what === 'man' ? manPage(program, version()) : completionScript(what, program);
    return { schema: 'mbforensics/completion@1', what, text };
  },
  render: ({ text }) => text,
});
