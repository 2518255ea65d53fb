/**
 * Milliseconds of processor time that this process has used. Tests bound work with it, to distinguish a linear step
 * from a quadratic one; the wall clock also counts what other processes of a shared machine do meanwhile.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
