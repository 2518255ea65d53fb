import { describe, expect, it } from 'vitest';
import { type FailureCandidate, firstFailure, namesCause, roleOf } from '../../../src/derive/run/first-failure.js';
import { INCIDENT_KINDS } from '../../../src/model/vocabulary.js';

const incident = (more: Partial<FailureCandidate>): FailureCandidate => ({
  ...{ kind: 'other', rank: null, attempt: 1, file: 'train.log', line: 1, timeUs: null, iteration: null },
  ...{ grammar: 'test', exception: null, text: '' },
  ...more,
});
const oom = (more: Partial<FailureCandidate>): FailureCandidate =>
  incident({ kind: 'cuda_oom', grammar: 'torch.cuda_oom@2.5', ...more });
const timeout = (more: Partial<FailureCandidate>): FailureCandidate =>
  incident({ kind: 'timeout', grammar: 'torch.watchdog_timeout', ...more });
const rootCause = (more: Partial<FailureCandidate>): FailureCandidate =>
  incident({ grammar: 'torchrun.footer', text: 'root cause (torchrun): rank 0', ...more });

describe('the first failure', () => {
  it('has its cause in the exception that a table of torchrun quotes, unless it is a report itself', () => {
    const quoted = rootCause({ exception: 'ValueError' });
    const { first } = firstFailure([rootCause({ rank: 2 }), quoted]);
    expect(namesCause(first!.role, quoted)).toBe(true);
    expect(namesCause('secondary', rootCause({ exception: null }))).toBe(false);
    expect(namesCause('secondary', rootCause({ exception: 'subprocess.CalledProcessError' }))).toBe(false);
    expect(namesCause('secondary', incident({ grammar: 'launcher.command_died', exception: 'ValueError' }))).toBe(
      false,
    );
  });

  it('is nothing where nothing failed', () => {
    expect(firstFailure([]).first).toBeNull();
    expect(firstFailure([incident({ kind: 'negative_text' })]).first).toBeNull();
  });

  it('is the rank with an OOM text, not the one torchrun blames nor those that waited for it', () => {
    const victim = timeout({ rank: 0, line: 10, timeUs: 1_000 });
    const cause = oom({ rank: 5, line: 90, timeUs: 9_000 });
    const footer = rootCause({ rank: 0, line: 200, timeUs: 500 });
    const { first, victims, secondary, alsoFailed, basis } = firstFailure([victim, cause, footer]);
    expect(first?.incident).toBe(cause);
    expect(victims).toEqual([0]);
    expect(secondary).toEqual([footer, victim]);
    expect(alsoFailed).toEqual([]);
    expect(basis).toContain('the only failure with its own error');
  });

  it('is not a cancelled step of another node, unless the step was cancelled before it', () => {
    const cancelled = { kind: 'cancelled', grammar: 'slurm.cancelled', file: 'b.log' } as const;
    const step = { ...cancelled, text: 'STEP 7.0 ON node1 CANCELLED' };
    const cause = oom({ rank: 0, timeUs: 2_000 });
    for (const timeUs of [null, 3_000]) {
      const after = incident({ ...step, timeUs });
      expect(firstFailure([after, cause])).toMatchObject({ first: { incident: cause }, secondary: [after] });
      expect(firstFailure([after, cause]).basis).toContain('the only failure with its own error');
    }
    const before = incident({ ...step, timeUs: 1_000 });
    expect(firstFailure([before, cause]).first?.incident).toBe(before);
    const ofUser = incident({ ...step, text: 'JOB 7 ON node1 CANCELLED', timeUs: null });
    expect(firstFailure([ofUser, cause]).alsoFailed).toEqual([ofUser]);
  });

  it('goes by printed time across files', () => {
    const late = oom({ rank: 1, file: 'a.log', timeUs: 2_000 });
    const early = oom({ rank: 2, file: 'b.log', timeUs: 1_000 });
    const { first, alsoFailed, basis, victims } = firstFailure([late, early]);
    expect(first?.incident).toBe(early);
    expect(alsoFailed).toEqual([late]);
    expect(victims).toEqual([]);
    expect(basis).toContain('earliest printed time of 2');
  });

  it('goes by line in one file, by iteration across files, with a note where neither is possible', () => {
    const second = oom({ rank: 1, line: 50 });
    const first = oom({ rank: 2, line: 40 });
    const inOneFile = firstFailure([second, first]);
    expect(inOneFile.first?.incident).toBe(first);
    expect(inOneFile.basis).toContain('first of 2 in its file');
    const later = oom({ file: 'a.log', iteration: 8 });
    const sooner = oom({ file: 'b.log', iteration: 7 });
    expect(firstFailure([later, sooner]).first?.incident).toBe(sooner);
    expect(firstFailure([oom({ file: 'a.log' }), oom({ file: 'b.log' })]).basis).toContain('in an unknown order');
  });

  it('is told of the last launch that failed', () => {
    const before = oom({ rank: 1, attempt: 1, timeUs: 1 });
    const after = oom({ rank: 2, attempt: 2, timeUs: 2 });
    expect(firstFailure([before, after])).toMatchObject({ first: { incident: after }, alsoFailed: [] });
  });

  it('takes a consequence only where there is nothing else', () => {
    const lost = incident({ kind: 'connection_lost', rank: 3, line: 4 });
    const waiting = timeout({ rank: 1, line: 9 });
    const { first, victims, basis } = firstFailure([waiting, lost]);
    expect(first).toMatchObject({ role: 'secondary', incident: lost });
    expect(victims).toEqual([1]);
    expect(basis).toContain('only secondary failures');
    // A crash without words goes before them.
    const crash = incident({ rank: 2, grammar: 'process.crash', line: 99 });
    expect(firstFailure([waiting, lost, crash]).first).toMatchObject({ role: 'unexplained', incident: crash });
    // An exception reports what went wrong; words about memory are none.
    const key = incident({ rank: 2, grammar: 'python.traceback', exception: 'KeyError', line: 120 });
    const prose = incident({ kind: 'negative_text', line: 1 });
    expect(firstFailure([prose, waiting, crash, key]).first).toMatchObject({ role: 'primary', incident: key });
  });

  it('is of reports what the launcher names, then an exit with an error, and last what the launcher ended', () => {
    const closing = incident({
      grammar: 'launcher.sigterm',
      text: 'Sending process 7 closing signal SIGTERM',
      line: 1,
    });
    const failed = incident({ grammar: 'torchrun.worker_failed', text: 'failed (exitcode: 1)', exitCode: 1, line: 8 });
    const ended = incident({
      grammar: 'torchrun.footer',
      rank: 0,
      text: 'rank 0 exitcode -15',
      exitCode: -15,
      line: 9,
    });
    const root = rootCause({ rank: 6, exitCode: 1, line: 70 });
    const { first, basis, victims } = firstFailure([closing, failed, ended, root]);
    expect(first).toMatchObject({ role: 'secondary', incident: root });
    expect(basis).toContain('the launcher names it');
    expect(victims).toEqual([0]);
    expect(firstFailure([closing, failed, ended]).first?.incident).toBe(failed);
    expect(firstFailure([closing, ended]).first?.incident).toBe(closing);
    // Of two nodes, the one whose first failure is no signal.
    const signalled = rootCause({ rank: 8, exitCode: -15, line: 3, file: 'b.log' });
    expect(firstFailure([signalled, closing, root]).first?.incident).toBe(root);
    // A rank that waited names its collective.
    const waiting = timeout({ rank: 1, line: 5 });
    expect(firstFailure([closing, waiting, root]).first?.incident).toBe(waiting);
  });

  it('is of Slurm the task that exited, not the step that was cancelled for it', () => {
    const slurm = { grammar: 'slurm.task_end', file: 'slurm.err' } as const;
    const exited = incident({
      ...slurm,
      rank: 6,
      text: 'srun: error: n1: task 6: Exited with exit code 1',
      exitCode: 1,
    });
    const step = incident({
      kind: 'cancelled',
      grammar: 'slurm.cancelled',
      file: 'slurm.err',
      text: 'STEP 7.0',
      line: 2,
    });
    const terminated = incident({ ...slurm, text: 'srun: error: n1: tasks 0-5,7: Terminated', line: 3 });
    expect(firstFailure([exited, step, terminated])).toMatchObject({
      first: { incident: exited },
      secondary: [step, terminated],
    });
    expect(
      firstFailure([
        { ...step, line: 1 },
        { ...terminated, line: 2 },
      ]).first?.role,
    ).toBe('primary');
  });

  it('gives every kind a role, and footers never the first one', () => {
    for (const kind of INCIDENT_KINDS) expect(roleOf(incident({ kind }))).toBeTruthy();
    expect(roleOf(rootCause({}))).toBe('secondary');
    const exception = 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError';
    expect(roleOf(incident({ exception }))).toBe('secondary');
    expect(roleOf(incident({ kind: 'time_limit', grammar: 'slurm.cancelled' }))).toBe('primary');
    expect(roleOf(incident({ kind: 'host_oom', grammar: 'slurm.oom' }))).toBe('primary');
  });

  it('prefers memory to a time limit where nothing tells the order', () => {
    const limit = incident({ kind: 'time_limit', grammar: 'slurm.cancelled', file: 'a.err', timeUs: 5 });
    const memory = oom({ file: 'b.out' });
    expect(firstFailure([limit, memory]).first?.incident).toBe(memory);
  });
});
