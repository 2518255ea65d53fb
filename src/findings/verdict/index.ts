/** What the diagnosis uses of the verdicts. */
export { CAUSE_TESTS, COMBINATION_RULES, type Judgement, judge, lowerConfidence, type RuleId } from './combine.js';
