import type { RedactResult } from '../../../model/results/redact.js';
import { redactDocument } from '../../../report/store/redact-document.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { flag, KEY, misuse, operand, option } from '../../options.js';

export const verb = defineVerb({
  name: 'redact',
  lakeless: true,
  operands: { run: operand('<path...>', 'files and directories of one run') },
  options: {
    output: option('-o, --output <dir>', 'the new directory'),
    key: KEY,
    force: flag('--force', 'replace a directory that redact wrote'),
    check: flag('--check', 'write nothing; exit 1 if the files have what looks like a name or a key'),
  },
  async ask({ run, output, key, force, check }, session): Promise<RedactResult> {
    const { checkBundle, redactRun } = await import('../../redact-run.js');
    if (!check) {
      if (output === undefined) throw misuse('name the new directory with --output, or give --check');
      return redactRun(run, { output, key, force }, session.context);
    }
    if (output !== undefined) throw misuse('--check cannot be combined with --output');
    const suspicious = await checkBundle(run);
    return {
      schema: 'mbforensics/redact@1',
      directory: run.join(', '),
      names_file: null,
      report: {
        schema: 'mbforensics/redaction@1',
        ...{ files: [], left_out: [], kinds: [], replacements: [], suspicious, diagnosis: 'not compared' },
      },
      differences: [],
    };
  },
  document: redactDocument,
  exitCode: ({ report, names_file: namesFile }) =>
    namesFile === null
      ? report.suspicious.length > 0
        ? EXIT.finding
        : EXIT.done
      : report.diagnosis === 'different'
        ? EXIT.finding
        : EXIT.done,
});
