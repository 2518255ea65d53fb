/** A shorter input that still shows the same: parts are left out as long as the test holds, until the time is up. */
export async function minimise(
  bytes: Buffer,
  holds: (candidate: Buffer) => Promise<boolean>,
  mostMs: number,
): Promise<Buffer> {
  const end = Date.now() + mostMs;
  let best = bytes;
  for (let parts = 2; best.length > 1 && Date.now() < end; ) {
    const size = Math.ceil(best.length / parts);
    let isShorter = false;
    for (let at = 0; at < best.length && Date.now() < end; ) {
      const candidate = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await holds(candidate)) {
        best = candidate;
        isShorter = true;
      } else at += size;
    }
    if (size === 1 && !isShorter) break;
    parts = isShorter ? Math.max(2, parts - 1) : Math.min(best.length, parts * 2);
  }
  return best;
}
