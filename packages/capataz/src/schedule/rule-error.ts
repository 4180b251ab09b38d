/** What is wrong with a rule or a blackout, and in which of its fields. */
export class RuleError extends Error {
  override readonly name = 'RuleError';
  readonly field: string;

  constructor(field: string, problem: string) {
    super(problem);
    this.field = field;
  }
}
