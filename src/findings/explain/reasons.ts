/**
 * Statements that no rule, knob, symptom or fix carries, and why not: one honest sentence each. Where one comes to be carried after all, the
 * sentence is no longer shown.
 */
export const REASONS: Readonly<Record<string, string>> = {
  'mem.triggers': 'Says when the skill is to be read; the verdict of `diagnose` takes its place.',
  'mem.see-also': 'Tells where to read on.',
  'mem.golden': 'A figure of the published case, which `advise` and `compare` use as data.',
  'rec.triggers': 'Says when the skill is to be read; the verdict of `diagnose` takes its place.',
  'rec.code-anchors': 'Names places of upstream code, which move.',
  'rec.verify': 'Runs unit tests of Megatron Bridge; nothing of a run tells their outcome.',
  'off.verify-tests': 'Runs unit tests of Megatron Bridge; nothing of a run tells their outcome.',
  'mb.config-classes': 'Says how settings are spelt; every assignment for Megatron Bridge that is printed follows it.',
  'guide.fp8-a2a': 'Announces what is not released; there is no setting for it.',
};
