/** Syntax trees of the part of Python that training code in these repositories is written in. */

export type Expression = (
  | { readonly kind: 'constant'; readonly value: number | string | boolean | null }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'attribute'; readonly of: Expression; readonly name: string }
  | { readonly kind: 'subscript'; readonly of: Expression; readonly index: Expression }
  | {
      readonly kind: 'call';
      readonly callee: Expression;
      readonly arguments: readonly Argument[];
    }
  | { readonly kind: 'list' | 'tuple'; readonly items: readonly Expression[] }
  | { readonly kind: 'dict'; readonly entries: readonly (readonly [Expression, Expression])[] }
  | {
      readonly kind: 'comprehension';
      readonly item: Expression;
      readonly target: Expression;
      readonly iterable: Expression;
      readonly condition: Expression | null;
    }
  | { readonly kind: 'unary'; readonly operator: '-' | 'not'; readonly operand: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'compare';
      readonly operator: CompareOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'logical'; readonly operator: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'choice'; readonly test: Expression; readonly yes: Expression; readonly no: Expression }
) & { readonly line: number };

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type CompareOperator = '==' | '!=' | '<' | '>' | '<=' | '>=' | 'is' | 'is not' | 'in' | 'not in';

export interface Argument {
  /** Of a keyword argument. */
  readonly name: string | null;
  /** `*value`. */
  readonly isStarred: boolean;
  readonly value: Expression;
}

export interface Parameter {
  readonly name: string;
  readonly isStarred: boolean;
  readonly default: Expression | null;
}

export interface FunctionDefinition {
  readonly kind: 'function';
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** Names only: `staticmethod`, `jit_fuser`. */
  readonly decorators: readonly string[];
  readonly body: readonly Statement[];
  /** Of the `def`. */
  readonly line: number;
  /** Of the last line of the body. */
  readonly endLine: number;
}

export interface ClassDefinition {
  readonly kind: 'class';
  readonly name: string;
  readonly bases: readonly Expression[];
  readonly body: readonly Statement[];
  readonly line: number;
}

export type Statement =
  | FunctionDefinition
  | ClassDefinition
  | { readonly kind: 'import'; readonly module: string; readonly as: string | null; readonly line: number }
  | {
      readonly kind: 'from';
      readonly module: string;
      readonly names: readonly { readonly name: string; readonly as: string }[];
      readonly line: number;
    }
  | { readonly kind: 'assign'; readonly target: Expression; readonly value: Expression; readonly line: number }
  | { readonly kind: 'delete'; readonly targets: readonly Expression[]; readonly line: number }
  | { readonly kind: 'return'; readonly value: Expression | null; readonly line: number }
  | { readonly kind: 'expression'; readonly value: Expression; readonly line: number }
  | {
      readonly kind: 'for';
      readonly target: Expression;
      readonly iterable: Expression;
      readonly body: readonly Statement[];
      readonly line: number;
    }
  | {
      readonly kind: 'if';
      readonly test: Expression;
      readonly body: readonly Statement[];
      readonly orElse: readonly Statement[];
      readonly line: number;
    }
  | {
      readonly kind: 'with';
      readonly context: Expression;
      readonly body: readonly Statement[];
      readonly line: number;
    }
  | { readonly kind: 'assert'; readonly test: Expression; readonly message: Expression | null; readonly line: number }
  | { readonly kind: 'raise'; readonly value: Expression; readonly line: number }
  | { readonly kind: 'pass'; readonly line: number };

export interface Module {
  /** Relative to the repository. */
  readonly file: string;
  readonly lines: readonly string[];
  readonly body: readonly Statement[];
}
