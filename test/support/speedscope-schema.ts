/**
 * What speedscope's file format demands of a sampled profile. Upstream: jlfwong/speedscope
 * `src/lib/file-format-spec.ts`, from which its JSON schema is made.
 */

const UNITS = ['none', 'nanoseconds', 'microseconds', 'milliseconds', 'seconds', 'bytes'];

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is wrong with a file; empty if nothing is. */
export function speedscopeFaults(file: unknown): string[] {
  const faults: string[] = [];
  const check = (ok: boolean, fault: string): boolean => {
    if (!ok) faults.push(fault);
    return ok;
  };
  if (!isObject(file)) return ['no object'];
  check(file['$schema'] === 'https://www.speedscope.app/file-format-schema.json', '$schema');
  for (const key of ['name', 'exporter'])
    check(file[key] === undefined || typeof file[key] === 'string', `${key} is no string`);
  const shared = file['shared'];
  const frames = isObject(shared) ? shared['frames'] : undefined;
  if (!check(Array.isArray(frames), 'shared.frames')) return faults;
  const list = frames as readonly unknown[];
  list.forEach((frame, n) => {
    if (!check(isObject(frame), `frame ${n}`)) return;
    const { name, file: path, line, col } = frame as Json;
    check(typeof name === 'string', `name of frame ${n}`);
    check(path === undefined || typeof path === 'string', `file of frame ${n}`);
    for (const number of [line, col])
      check(number === undefined || Number.isFinite(number), `line or col of frame ${n}`);
  });
  const profiles = file['profiles'];
  if (!check(Array.isArray(profiles) && profiles.length > 0, 'profiles')) return faults;
  const active = file['activeProfileIndex'];
  check(
    active === undefined ||
      (Number.isInteger(active) && Number(active) >= 0 && Number(active) < (profiles as unknown[]).length),
    'activeProfileIndex',
  );
  (profiles as readonly unknown[]).forEach((profile, n) => {
    if (!check(isObject(profile), `profile ${n}`)) return;
    const { type, name, unit, startValue, endValue, samples, weights } = profile as Json;
    check(type === 'sampled', `type of profile ${n}`);
    check(typeof name === 'string', `name of profile ${n}`);
    check(UNITS.includes(String(unit)), `unit of profile ${n}`);
    check(
      Number.isFinite(startValue) && Number.isFinite(endValue) && Number(endValue) >= Number(startValue),
      `values of profile ${n}`,
    );
    if (!check(Array.isArray(samples) && Array.isArray(weights), `samples of profile ${n}`)) return;
    check((samples as unknown[]).length === (weights as unknown[]).length, `weights of profile ${n}`);
    for (const sample of samples as readonly unknown[]) {
      const isStack =
        Array.isArray(sample) && sample.every((at) => Number.isInteger(at) && at >= 0 && at < list.length);
      check(isStack, `a sample of profile ${n}`);
    }
    const sum = (weights as readonly unknown[]).reduce<number>((total, weight) => total + Number(weight), 0);
    check(Number.isFinite(sum) && sum === Number(endValue) - Number(startValue), `sum of profile ${n}`);
  });
  return faults;
}
