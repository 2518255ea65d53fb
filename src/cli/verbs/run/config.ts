import { describeConfig, type RunSettings, readSettings } from '../../../derive/run/config.js';
import { configDocument } from '../../../report/run/config-document.js';
import { defineVerb } from '../../define-verb.js';
import type { Operands } from '../../operands.js';
import { option, RUN } from '../../options.js';
import type { Session } from '../../session.js';

export const verb = defineVerb({
  name: 'config',
  operands: { run: RUN },
  options: { diff: option('--diff <run2>', 'compare with this run or path') },
  async ask({ run, diff }, session) {
    const here = await settingsOf(run, session);
    return describeConfig(here, diff === undefined ? undefined : await settingsOf(diff, session));
  },
  document: configDocument,
});

/** Closed at once: a process opens a store once. */
async function settingsOf(operand: Operands, session: Session): Promise<RunSettings> {
  const { store, runId, run } = await session.target(operand);
  const found = await readSettings(store, runId);
  await session.close();
  return { run, found };
}
