/**
 * `events.out.tfevents.<seconds>.<host>`, with `.<pid>.<n>` behind it since TensorBoard 2 and torch 1.2, and a suffix
 * of the user's (`.v2` of TensorFlow 2). A host's name may hold dots. Upstream: tensorboard
 * `summary/writer/event_file_writer.py`; tensorboardX the same without pid.
 */
const NAME = /(?:^|[._-])tfevents\.(\d{9,11})\.([A-Za-z0-9][A-Za-z0-9._-]{0,253})$/;
const BEHIND = /\.(\d{1,10})\.(\d{1,6})(?:\.[A-Za-z][\w.-]{0,60})?$/;
const SUFFIX = /\.(?:v2|profile-empty)$/;

export function isEventFileName(name: string): boolean {
  return /(?:^|[._-])tfevents(?:[._-]|$)/.test(name);
}

/** Name of the host that wrote the file; null where the name has another form. */
export function hostFromName(name: string): string | null {
  const hostAndSuffix = NAME.exec(name)?.[2];
  if (hostAndSuffix === undefined) return null;
  const host = hostAndSuffix.replace(BEHIND, '').replace(SUFFIX, '');
  return host === '' ? null : host;
}
