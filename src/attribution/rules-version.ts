/** Raise it whenever the same stack would get another label. */
export const RULES_VERSION = 6;
