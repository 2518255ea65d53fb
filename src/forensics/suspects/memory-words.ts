/** What in changed lines looks like memory, or like time. Words, not understanding: they tip the scales between hunks, and never weigh alone. */

/** Words that free memory, or keep it from being held: their going is what makes it grow. */
const RELEASES: readonly RegExp[] = [
  /\bdel\s+[\w.[\], ]+/,
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
];

/** Words that hold on to tensors made elsewhere. */
const RETAINS: readonly RegExp[] = [
  /\.(?:append|extend|setdefault)\(/,
  /\bretain_graph=True/,
  /\bcreate_graph=True/,
  /\bsave_for_backward\(/,
  /\bregister_(?:\w+_)?(?:hook|buffer)\(/,
  /\b\w*(?:cache|saved|history|stash|buffers?)\w*(?:\[[^\]]*\])?\s*=(?!=)/,
  /\.requires_grad_?\b/,
  /\bretain_grad\(/,
  /\blru_cache\b/,
];

/** Words that take memory, or take more of it. */
const GROWS: readonly RegExp[] = [
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
];

/** Words that wait, copy to the host, or do work again. */
const SLOWS: readonly RegExp[] = [
  /\bsynchronize\(/,
  /\.item\(\)/,
  /\.(?:cpu|tolist|numpy)\(/,
  /\bbarrier\(/,
  /\bsleep\(/,
  /\bempty_cache\(|\bgc\.collect\(/,
  /\b\w*checkpoint\(|\brecompute\w*/,
  /\bcontiguous\(|\.clone\(/,
  /\b(?:float32|fp32)\b|\.float\(\)/,
  /\ball_(?:reduce|gather)\w*|\breduce_scatter\w*/,
  /\bdeterministic\w*/,
  /\bnonzero\(|\bis_nan\b|\bisnan\(|\bisfinite\(/,
  /\boffload\w*/,
];
/** Words whose going makes a step slower. */
const SPEEDS: readonly RegExp[] = [
  /\bcompile\b|\bjit\w*/,
  /\b\w*fus(?:ed|ion)\w*/,
  /\boverlap\w*/,
  /\basync\w*|\bnon_blocking\b/,
  /\bcuda_?graph\w*/i,
  /\bbf16|\bbfloat16/,
  /\bflash\w*/i,
  /\bprefetch\w*/,
];

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
function surplus(words: readonly RegExp[], more: readonly string[], less: readonly string[]): string | null {
  for (const word of words) {
    const all = new RegExp(word, `${word.flags.replace('g', '')}g`);
    const count = (lines: readonly string[]): number =>
      lines.reduce((sum, line) => sum + (line.match(all)?.length ?? 0), 0);
    if (count(more) <= count(less)) continue;
    const found = more.flatMap((line) => word.exec(line)?.[0] ?? [])[0];
    if (found !== undefined) return found.trim().slice(0, 60);
  }
  return null;
}

export function hasRelease(line: string): boolean {
  return RELEASES.some((word) => word.test(line));
}
