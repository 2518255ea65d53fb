/** What in changed lines looks like memory, or like time. Words, not understanding: they tip the scales between hunks, and never weigh alone. */

/** A pattern for a line, and the same for counting. */
interface Word {
  readonly one: RegExp;
  readonly all: RegExp;
}

const words = (...patterns: readonly RegExp[]): Word[] =>
  patterns.map(({ source, flags }) => ({
    one: new RegExp(source, `${flags}m`),
    all: new RegExp(source, `${flags}gm`),
  }));

const WORD_SHOWN = 60;

/** Words that free memory, or keep it from being held: their going is what makes it grow. */
const RELEASES = words(
  /\bdel [\w.[\], ]+/,
  /\.free\w*\(/,
  /\bempty_cache\(/,
  /\b\w*checkpoint(?:_sequential|ed_forward|_wrapper|WithoutOutput)?\(/,
  /\brecompute\w*/,
  /\bdiscard_output\w*/,
  /\bno_grad\b/,
  /\binference_mode\b/,
  /\.detach_?\(/,
  // A statement, not the default of a parameter.
  /^[\w.[\]", ]+ = None$/,
  /\bdeallocate\w*/,
  /\brelease\w*\(/,
  /\.resize_\(0\)/,
  /\bset_to_none\b/,
  /\bzero_grad\(/,
  /\bgc\.collect\(/,
  /\.(?:pop|clear)\(/,
  /\.cpu\(\)/,
  /\boffload\w*/,
  /\binplace=True/,
  /\.(?:add|mul|copy|div|sub|clamp|relu)_\(/,
  /\bout=\w/,
  /\.(?:chunk|split)\(/,
  /\bfree_\w+/,
);

/** Words that hold on to tensors made elsewhere. */
const RETAINS = words(
  /\.(?:append|extend|setdefault)\(/,
  /\bretain_graph=True/,
  /\bcreate_graph=True/,
  /\bsave_for_backward\(/,
  /\bregister_(?:\w+_)?(?:hook|buffer)\(/,
  /\b\w*(?:cache|saved|history|stash|buffers?)\w*(?:\[[^\]]*\])?\s*=(?!=)/,
  /\.requires_grad_?\b/,
  /\bretain_grad\(/,
  /\blru_cache\b/,
);

/** Words that take memory, or take more of it. */
const GROWS = words(
  /\b(?:float32|fp32|float64)\b|\.float\(\)|\.double\(\)/,
  /\.clone\(|\bdeepcopy\(|\bclone\(/,
  /\bcontiguous\(/,
  /\b(?:zeros|empty|ones|full|rand|randn|arange|tensor)(?:_like)?\(|\.new_\w+\(/,
  /\b(?:cat|stack|concat)\(/,
  /\.?\b(?:repeat\w*|expand\w*|tile)\(/,
  /\bpad\w*\b/,
  /\bbuffers?\b|_buffer\w*/,
  /\bcach(?:e|es|ed|ing)\b|_cache\w*/,
  /\bretain\w*/,
  /\bbatch_?size\b|\bmicro_batch\w*/,
  /\bpin_memory\b/,
  /\ball_gather\w*/,
  /\bone_hot\(/,
  /\bcapacity\w*/,
  /\bdouble_buffer\w*/,
  /\b(?:max_)?seq_len\w*|\bnum_layers\b/,
);

/** Words that wait, copy to the host, or do work again. */
const SLOWS = words(
  /\bsynchronize\(/,
  /\.item\(\)/,
  /\.(?:cpu|tolist|numpy)\(/,
  /\bbarrier\(/,
  /\bsleep\(/,
  /\bempty_cache\(|\bgc\.(?:collect|enable)\(/,
  /\.wait\(\)/,
  /\b\w*checkpoint\(|\brecompute\w*/,
  /\bcontiguous\(|\.clone\(/,
  /\b(?:float32|fp32)\b|\.float\(\)/,
  /\ball_(?:reduce|gather)\w*|\breduce_scatter\w*/,
  /\bdeterministic\w*/,
  /\bnonzero\(|\bis_nan\b|\bisnan\(|\bisfinite\(/,
  /\boffload\w*/,
);
/** Words whose going makes a step slower. */
const SPEEDS = words(
  /\bcompile\b|\bjit\w*/,
  /\b\w*fus(?:ed|ion)\w*/,
  /\w*overlap\w*/,
  /\w*async\w*|\bnon_blocking\b/,
  /\bcuda_?graph\w*/i,
  /\bbf16|\bbfloat16/,
  /\bflash\w*/i,
  /\w*prefetch\w*/,
  // Collections in the middle of a step, on every rank at another time.
  /\bgc\.(?:disable|freeze)\(/,
);

/** What tips towards growth; the first text of each kind, for the reader. */
export interface WordSigns {
  /** Taken out: what freed. */
  readonly releases: string | null;
  /** Put in: what holds. */
  readonly retains: string | null;
  /** Put in: what takes. */
  readonly grows: string | null;
}

/** @param removed, added code without strings and comments, of lines that really differ */
export function memorySigns(removed: readonly string[], added: readonly string[]): WordSigns {
  return {
    releases: surplus(RELEASES, removed, added),
    retains: surplus(RETAINS, added, removed),
    grows: surplus(GROWS, added, removed),
  };
}

/** A word that makes steps slower by being put in, or by being taken out. */
export function timeSign(removed: readonly string[], added: readonly string[]): string | null {
  return surplus(SLOWS, added, removed) ?? surplus(SPEEDS, removed, added);
}

/** The first word that `more` has more often than `less`. */
function surplus(list: readonly Word[], more: readonly string[], less: readonly string[]): string | null {
  const [those, these] = [more.join('\n'), less.join('\n')];
  for (const { one, all } of list) {
    const found = one.exec(those)?.[0];
    if (found === undefined) continue;
    if ((those.match(all)?.length ?? 0) > (these.match(all)?.length ?? 0)) return found.trim().slice(0, WORD_SHOWN);
  }
  return null;
}

export function hasRelease(line: string): boolean {
  return RELEASES.some(({ one }) => one.test(line));
}
