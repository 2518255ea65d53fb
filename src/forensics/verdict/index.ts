/** What the diagnosis uses of the verdicts. */
export { CAUSE_TESTS, COMBINATION_RULES, type Judgement, judge, type RuleId } from './combine.js';
