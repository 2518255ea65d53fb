/** Milliseconds of processor time that this process has used: a figure to print, never to assert. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
