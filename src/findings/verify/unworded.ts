/** The results of `verify-fix` before their sentences are made. */
import type * as advise from '../../model/results/advise.js';
import type * as verify from '../../model/results/verify.js';
import type { Unworded } from '../../model/statement.js';

type Text = 'text' | 'source' | 'needs' | 'on_cause' | 'summary' | 'of' | 'unfair' | 'missing' | advise.AdviceText;

export type AdviceFix = Unworded<advise.AdviceFix, advise.AdviceText>;
export type NonFix = Unworded<advise.NonFix, advise.AdviceText>;
export type VerifyBottleneck = Unworded<verify.VerifyBottleneck, Text>;
export type VerifyChange = Unworded<verify.VerifyChange, Text>;
export type VerifyEffect = Unworded<verify.VerifyEffect, Text>;
export type VerifyEvidence = Unworded<verify.VerifyEvidence, Text>;
export type VerifyExpected = Unworded<verify.VerifyExpected, Text>;
export type VerifyFigure = Unworded<verify.VerifyFigure, Text>;
export type VerifyFixResult = Unworded<verify.VerifyFixResult, Text>;
export type VerifyJudgement = Unworded<verify.VerifyJudgement, Text>;
export type VerifyMeasured = Unworded<verify.VerifyMeasured, Text>;
export type VerifyRun = Unworded<verify.VerifyRun, Text>;
