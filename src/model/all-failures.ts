import type { Verdict } from './verdict.js';

/** A failure with the verdict that describes it, or that it is counted with. */
export interface JudgedFailure<Of> {
  readonly verdict: Of;
  readonly rank: number | null;
  readonly device: number | null;
}

/** Every failure of a diagnosis: each verdict is about its own, then about those that are counted with it. */
export function allFailures<Of extends Pick<Verdict, 'rank' | 'device' | 'also'>>(
  verdicts: readonly Of[],
): JudgedFailure<Of>[] {
  return verdicts.flatMap((verdict) =>
    [verdict, ...verdict.also].map(({ rank, device }) => ({ verdict, rank, device })),
  );
}
