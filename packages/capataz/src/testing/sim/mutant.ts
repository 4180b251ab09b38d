/** A deliberate break of the product: the simulator must notice each of them. */
export interface Mutant {
  readonly name: string;
  /** More than one where the product has a second line of defence. */
  readonly edits: readonly Edit[];
}

export interface Edit {
  /** Below packages/capataz/src. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
}
