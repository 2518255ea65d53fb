import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countUpTo } from '../../../src/attribution/count-up-to.js';
import { type AnnotationMark, stageAt, stageTimeline } from '../../../src/findings/stacks/annotation-stages.js';

const mark = (stage: string, name: string, time_us: number | null, device: number | null = 0): AnnotationMark => ({
  ...{ stage, name, time_us, device },
});
/** `STAGE NAME TIME`, with `-` for no time, and the device if it is not 0. */
const marksOf = (text: string): AnnotationMark[] =>
  text.split(', ').map((one) => {
    const [stage = '', name = '', time = '', device = '0'] = one.split(' ');
    return mark(stage, name, time === '-' ? null : Number(time), Number(device));
  });

describe('the innermost scope', () => {
  it('is the open one that started last', () => {
    const marks = 'START step 10, START forward 20, START forward 25, END forward 30, END forward 40, END step 50';
    const timeline = stageTimeline(marksOf(marks), 0);
    const [step, forward] = ['step', 'forward'];
    expect([9, 10, 19, 20, 30, 39, 40, 49, 50].map((time) => stageAt(timeline, time))).toEqual([
      ...[null, step, step, forward, forward, forward, step, step, null],
    ]);
  });

  it('tolerates missing partners: lost starts are open from the beginning, lost ends to the end', () => {
    const marks =
      'END inner 10, END outer 20, START running 30, other running 31, START elsewhere 32 1, START untimed -';
    const timeline = stageTimeline(marksOf(marks), 0);
    expect([5, 15, 25, 35].map((time) => stageAt(timeline, time))).toEqual(['inner', 'outer', null, 'running']);
  });

  it('belongs to a device, or to all where the file does not say', () => {
    const marks = [mark('START', 'a', 1, 1), mark('START', 'b', 2, null)];
    expect(stageAt(stageTimeline(marks, 0), 5)).toBe('b');
    expect(stageAt(stageTimeline(marks, 1), 1)).toBe('a');
  });

  it('is that of a plain interpreter for any well-nested program, whatever the tail that was kept', () => {
    const steps = fc.array(fc.constantFrom('a', 'b', 'c', 'end', 'end', 'end'), { maxLength: 60 });
    fc.assert(
      fc.property(steps, fc.nat(), (program, lost) => {
        const marks: AnnotationMark[] = [];
        const truth: (string | null)[] = [];
        const open: string[] = [];
        const move = (step: string): void => {
          const name = step === 'end' ? open.pop() : step;
          if (name === undefined) return;
          if (step !== 'end') open.push(name);
          marks.push(mark(step === 'end' ? 'END' : 'START', name, marks.length));
          truth.push(open.at(-1) ?? null);
        };
        for (const step of program) move(step);
        while (open.length > 0) move('end');
        const from = marks.length === 0 ? 0 : lost % marks.length;
        const timeline = stageTimeline(marks.slice(from), 0);
        for (let time = from; time < marks.length; time += 1) expect(stageAt(timeline, time)).toBe(truth[time]);
      }),
    );
  });
});

describe('times', () => {
  it('are counted by bisection', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 30 })), fc.integer({ min: -1, max: 31 }), (values, time) => {
        const times = Float64Array.from(values).sort();
        expect(countUpTo(times, time)).toBe(values.filter((value) => value <= time).length);
      }),
    );
  });
});
