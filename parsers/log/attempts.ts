import { type AttemptRow, LAUNCH_STAGES, type LaunchStage, type Phase } from '../../src/model/log-rows.js';

/** Writers times banners of one attempt. */
const MOST_BANNERS = 65_536;
/** Lines that an undecided launch may take, fewer than the joiner of incidents waits for. */
const MOST_UNDECIDED_LINES = 16_384;
/** A jump of more than this many logging intervals is far. */
const FAR_INTERVALS = 16;
/** A jump at the end of a log, where nothing follows that could confirm it. */
const ABSURD_INTERVALS = 1000;

/** Logging intervals by which one of several unmarked writers may be behind. */
const MOST_COPIED_INTERVALS = 64;

const BUILD = LAUNCH_STAGES.length;
const LOOP = BUILD + 1;
/** How far a launch has come by its phases. */
const REACHED: Partial<Record<Phase, number>> = {
  model_build: BUILD,
  optimizer_build: BUILD,
  data_build: BUILD,
  checkpoint_load: BUILD,
  training: LOOP,
  eval: LOOP,
};

/** An iteration counter: one format of one writer. */
interface Counter {
  last: number;
  /** The one before it. */
  before: number | null;
  /** Several ranks print with the same key. */
  shared: boolean;
  /** Logging interval: the last step forward. */
  interval: number;
  seen: number;
  /** Lines of writers that share the key and are behind. */
  late: number;
  line: number;
  /** How often the last iterations were printed. */
  readonly times: Map<number, number>;
}

/** An iteration number that the next one decides on. */
interface Suspect {
  readonly key: string;
  readonly iteration: number;
  readonly line: number;
  readonly timeUs: number | null;
  readonly counter: Counter | null;
  /** `back`: a restart or a misprint. `jump`: far above the last one. `resumed`: after the launch had ended. */
  readonly sign: 'back' | 'jump' | 'resumed';
  /** Above the last iteration that its line announces; some trainers announce that of the epoch. */
  readonly isBeyond: boolean;
}

const isFar = ({ counter, iteration }: Suspect): boolean =>
  counter !== null && Math.abs(iteration - counter.last) > FAR_INTERVALS * counter.interval;
/** Marks of writers of one sort differ in their numbers. */
const formOf = (mark: string): string => mark.replace(/\d+/g, '#');
/** Once a writer was behind the others, its next lines are. */
const isLate = (suspect: Suspect): boolean => suspect.counter !== null && suspect.counter.late > 0 && !isFar(suspect);

/** An iteration number far from its neighbours. */
export interface FarIteration {
  readonly line: number;
  readonly iteration: number;
  readonly neighbour: number;
}

/**
 * Distinguishes the launches inside one file. A launch begins with a banner after the current one has trained, failed
 * or ended, with a repeated milestone or another version of a library, or where an iteration counter goes back. Every
 * rank prints banners: before any of that, they belong to one launch.
 *
 * Where only a later line can decide, {@link undecided} is true: a counter went back once, which is a restart or one
 * misprinted number; settings are printed after training, which are those of the next launch or of a report. The caller
 * keeps rows until it is false and asks {@link at} again.
 */
export class AttemptTracker {
  /** Iteration numbers to leave out; the caller takes them out of the rows that it kept. */
  readonly far: FarIteration[] = [];
  private readonly emit: (row: AttemptRow) => void;
  private readonly starts: number[] = [1];
  private trained = false;
  private counters = new Map<string, Counter>();
  private firstLaunchSeen = false;
  private failedAt = 0;
  /** `finished`: a line reported the end of training. `ended`: its launcher or scheduler ended it. */
  private over: 'no' | 'finished' | 'ended' = 'no';
  /** Whether anything but the output of a launcher was read of this launch. */
  private started = false;
  private reached = -1;
  private lowest = Number.POSITIVE_INFINITY;
  /** How often banners and milestones of this attempt were printed, by writer. */
  private banners = new Map<string, number>();
  /** The first of them that a process printed. */
  private firstBanner: string | null = null;
  /** Who has printed in this attempt, by the marks of their lines; true: iterations. */
  private writers = new Map<string, boolean>();
  private facts = new Map<string, string>();
  /** First fact behind the end of training: where the next launch begins, if there is one. */
  private factLine: number | null = null;
  private suspect: Suspect | null = null;

  constructor(emit: (row: AttemptRow) => void) {
    this.emit = emit;
  }

  get current(): number {
    return this.starts.length;
  }

  /** Whether the launch of the lines since the last decision is not known yet. */
  get undecided(): boolean {
    return this.factLine !== null || this.suspect !== null;
  }

  /** Attempt of a line that was read before. */
  at(line: number): number {
    let attempt = this.starts.length;
    while (attempt > 1 && this.starts[attempt - 1]! > line) attempt -= 1;
    return attempt;
  }

  /**
   * A launch is announced. `writer`: which of the writers of one key, where the banner names it. A `loop` may start
   * several times in one process.
   */
  launch(
    key: string,
    label: string,
    line: number,
    timeUs: number | null,
    stage: LaunchStage | 'loop' = 'process',
    writer = '',
  ): void {
    const banner = `${key}\n${label}\n${writer}`;
    const known = this.banners.has(banner);
    const rank = stage === 'loop' ? BUILD : LAUNCH_STAGES.indexOf(stage);
    const failed = this.failedAt > 0;
    // What is printed behind an end that came before all output, as standard error may, is of the launch that ended.
    const isOver = this.over === 'finished' || (this.over === 'ended' && (known || this.started || this.trained));
    const isWitness = stage === 'loop' || stage === 'command';
    const begins =
      stage === 'command'
        ? known && (this.trained || isOver || failed)
        : stage === 'loop'
          ? (failed && known) || (isOver && this.over === 'ended')
          : this.trained ||
            isOver ||
            (failed && (known || (this.reached >= BUILD && rank < this.reached))) ||
            (this.reached >= LOOP && (known || this.lowest <= rank));
    if (begins && !this.isLateWriter(key, banner)) this.begin(line, `launch: ${label}`, timeUs);
    else if (!this.firstLaunchSeen && stage !== 'loop') {
      this.firstLaunchSeen = true;
      if (this.current === 1) this.emit({ attempt: 1, line, origin: `launch: ${label}`, timeUs });
    }
    const isOfProcess = stage === 'process' || stage === 'loop';
    this.note(banner, key, isOfProcess);
    if (!isWitness) {
      this.reached = Math.max(this.reached, rank);
      this.lowest = Math.min(this.lowest, rank);
    }
    if (isOfProcess) this.goOn();
  }

  /** A phase begins. `milestone`: what one process prints once. */
  phase(key: string, phase: Phase, label: string, milestone: boolean, line: number, timeUs: number | null): void {
    const reached = REACHED[phase];
    if (reached !== undefined) {
      const id = `${key}\n${label}`;
      const again = this.trained || this.over !== 'no' || this.failedAt > 0;
      if (milestone && again && (this.banners.get(id) ?? 0) >= this.copies(key))
        this.begin(line, `again: ${label}`, timeUs);
      if (milestone) this.note(id, key, true);
      this.reached = Math.max(this.reached, reached);
      this.goOn();
    }
    if (phase !== 'finished') return;
    // Settings that were printed before it are not those of the next launch.
    this.factLine = null;
    if (this.over === 'no') this.over = 'finished';
  }

  /**
   * A setting, a variable, a version: what a process prints when it starts. `name`: of a version, which one. A shell's
   * are not of a process.
   */
  fact(key: string, name: string | null, value: string, line: number, timeUs: number | null, isOfShell = false): void {
    if (this.over === 'ended' && (this.started || this.trained)) this.begin(line, 'settings after the end', timeUs);
    else if (name !== null) {
      const id = `${key}\n${name}`;
      const before = this.facts.get(id);
      const isLate = this.trained || this.over !== 'no' || this.failedAt > 0 || this.reached >= LOOP;
      if (before !== undefined && before !== value && isLate)
        this.begin(line, `${name} ${before} became ${value}`, timeUs);
      if (this.facts.size < MOST_BANNERS) this.facts.set(id, value);
    }
    if (!isOfShell) this.goOn();
    if (this.factLine === null && (this.trained || this.over !== 'no')) this.factLine = line;
    this.limit(line);
  }

  /** A failure on this line, which may be reported some lines later: a message takes several. */
  trouble(line: number): void {
    if (line < this.starts.at(-1)!) return;
    this.failedAt = Math.max(this.failedAt, line);
    // What was printed before belongs to what failed.
    if (this.factLine !== null && this.factLine < line) this.factLine = null;
  }

  /**
   * A launcher or a scheduler reports the end. Late reports about the launch before do not end one that has only begun.
   */
  ended(): void {
    if (!this.started && !this.trained && this.current > 1) return;
    this.over = 'ended';
    this.factLine = null;
  }

  /** An iteration was printed by the writer `key`. */
  iteration(key: string, iteration: number, line: number, timeUs: number | null, target: number | null = null): void {
    if (this.suspect?.key === key) this.decide(this.suspect, iteration);
    const counter = this.counters.get(key);
    const last = counter?.last ?? 0;
    const isBeyond = target !== null && target > 0 && iteration > target;
    const suspect = (sign: Suspect['sign']): void => {
      if (this.suspect === null)
        this.suspect = { key, iteration, line, timeUs, counter: counter ?? null, sign, isBeyond };
      this.limit(line);
    };
    // Standard error may come before standard output: an end as planned belongs to the iterations behind it unless
    // something starts between them, and so does a launcher's that is the first output of all.
    const isEnded = this.over === 'ended' && (this.started || this.trained);
    if (isEnded && counter === undefined && this.isNewWriter(key)) {
      this.begin(line, `iteration ${iteration} after the end`, timeUs);
    } else if (isEnded && (counter === undefined || iteration > last)) {
      if (counter === undefined && !this.trained) this.begin(line, `iteration ${iteration} after the end`, timeUs);
      else {
        suspect('resumed');
        return;
      }
    } else if (counter !== undefined) {
      if (iteration === last) {
        counter.shared = true;
        counter.times.set(iteration, (counter.times.get(iteration) ?? 0) + 1);
      }
      // A slow rank's line comes after the others' next one. One behind is taken for that in any case, but for the
      // first.
      const isSlow = counter.shared && iteration === counter.before;
      if (iteration === last || isSlow || (iteration === last - 1 && iteration !== 1)) return;
      if (iteration < last && this.isCopy(counter, key, iteration)) return;
      if (iteration < last) {
        if (this.over === 'no' && this.failedAt <= counter.line) {
          suspect('back');
          return;
        }
        this.begin(line, `iteration ${iteration} after ${last}`, timeUs);
      } else if ((counter.seen > 2 || isBeyond) && iteration - last > FAR_INTERVALS * counter.interval) {
        suspect('jump');
        return;
      }
    }
    this.accept(key, iteration, line);
  }

  /** No line follows, or too many have: what is undecided is decided by what is known. */
  settle(): void {
    const { suspect } = this;
    if (suspect !== null) {
      this.suspect = null;
      const { key, sign, iteration, line, timeUs, counter, isBeyond } = suspect;
      if (sign === 'back') {
        if (!isLate(suspect)) {
          this.begin(line, `iteration ${iteration} after ${counter!.last}`, timeUs);
          this.accept(key, iteration, line);
        }
      } else if (
        sign === 'jump' &&
        (isBeyond ||
          (iteration > 10 * counter!.last && iteration - counter!.last > ABSURD_INTERVALS * counter!.interval))
      )
        this.far.push({ line, iteration, neighbour: counter!.last });
      else this.accept(key, iteration, line);
    }
    this.factLine = null;
  }

  /** The next number of the counter of a suspect shows what it was. */
  private decide(suspect: Suspect, next: number): void {
    const { key, sign, iteration, line, timeUs, counter } = suspect;
    const last = counter?.last ?? 0;
    if (next === iteration || (next === last && counter !== null)) return;
    this.suspect = null;
    if (sign === 'back') {
      if (isLate(suspect)) return;
      if (next > last) {
        // A writer that shares the key and is behind, or a misprint.
        if (isFar(suspect)) this.far.push({ line, iteration, neighbour: last });
        else counter!.late += 1;
        return;
      }
      this.begin(line, `iteration ${iteration} after ${last}`, timeUs);
    } else if (sign === 'resumed') {
      if (next <= iteration) return;
      this.begin(line, `iteration ${iteration} after the end`, timeUs);
    } else if (next < iteration) {
      this.far.push({ line, iteration, neighbour: last });
      return;
    }
    this.accept(key, iteration, line);
  }

  /** Processes without a mark that print the same: as often as the first line of a process was printed. */
  private copies(key: string): number {
    return key === '' && this.firstBanner !== null ? (this.banners.get(this.firstBanner) ?? 1) : 1;
  }

  /** Whether one of several unmarked writers, which is behind the others, may have printed this iteration. */
  private isCopy(counter: Counter, key: string, iteration: number): boolean {
    const copies = this.copies(key.slice(key.indexOf('\n') + 1));
    // Behind a failure, the next launch may start below it.
    if (copies < 2 || this.over !== 'no' || this.failedAt > counter.line) return false;
    const times = counter.times.get(iteration) ?? 0;
    if (times === 0 || times >= copies) return false;
    counter.times.set(iteration, times + 1);
    return true;
  }

  /** Whether a marked writer prints this for the first time, and no iteration yet, where others do: it was buffered. */
  private isLateWriter(mark: string, banner: string): boolean {
    // Behind a failure or an end, it is of the next launch.
    if (mark === '' || this.over !== 'no' || this.failedAt > 0) return false;
    if (this.banners.has(banner) || this.writers.get(mark) === true) return false;
    const form = formOf(mark);
    for (const writer of this.writers.keys()) if (writer !== mark && formOf(writer) === form) return true;
    return false;
  }

  /** A process prints: what was reported of an end before came before its output. */
  private goOn(): void {
    if (this.over === 'ended' && !this.started) {
      this.over = 'no';
      this.failedAt = 0;
    }
    this.started = true;
  }

  /** Whether no writer of this format, with a prefix of this form, has printed an iteration. */
  private isNewWriter(key: string): boolean {
    const form = formOf(key);
    for (const known of this.counters.keys()) if (formOf(known) === form) return false;
    return true;
  }

  private accept(key: string, iteration: number, line: number): void {
    this.trained = true;
    this.started = true;
    if (this.over === 'ended') this.over = 'no';
    this.reached = LOOP;
    this.factLine = null;
    const counter = this.counters.get(key);
    if (counter === undefined) {
      const times = new Map([[iteration, 1]]);
      this.counters.set(key, {
        last: iteration,
        before: null,
        shared: false,
        interval: 1,
        seen: 1,
        late: 0,
        line,
        times,
      });
      this.writers.set(key.slice(key.indexOf('\n') + 1), true);
    } else {
      counter.before = counter.last;
      if (iteration > counter.last) counter.interval = iteration - counter.last;
      counter.last = iteration;
      counter.seen += 1;
      counter.line = line;
      counter.times.delete(iteration - MOST_COPIED_INTERVALS * counter.interval);
      counter.times.set(iteration, 1);
    }
  }

  private note(banner: string, mark: string, isOfProcess: boolean): void {
    if (this.banners.size >= MOST_BANNERS) return;
    this.banners.set(banner, (this.banners.get(banner) ?? 0) + 1);
    if (!this.writers.has(mark)) this.writers.set(mark, false);
    if (isOfProcess) this.firstBanner ??= banner;
  }

  private limit(line: number): void {
    const from = Math.min(this.factLine ?? line, this.suspect?.line ?? line);
    if (line - from > MOST_UNDECIDED_LINES) this.settle();
  }

  private begin(at: number, origin: string, timeUs: number | null): void {
    const { suspect } = this;
    // A counter that went back before this launch began was a launch of its own.
    if (suspect !== null && suspect.line < at) this.settle();
    const line = Math.min(at, this.factLine ?? at);
    if (!this.firstLaunchSeen) this.emit({ attempt: 1, line: 1, origin: 'first line', timeUs: null });
    this.starts.push(line);
    this.trained = false;
    this.failedAt = 0;
    this.over = 'no';
    this.started = false;
    this.reached = -1;
    this.lowest = Number.POSITIVE_INFINITY;
    this.banners = new Map();
    this.firstBanner = null;
    this.writers = new Map();
    this.facts = new Map();
    this.factLine = null;
    this.suspect = null;
    this.firstLaunchSeen = true;
    this.counters = new Map();
    this.emit({ attempt: this.starts.length, line, origin, timeUs });
  }
}
