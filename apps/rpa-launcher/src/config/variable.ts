/** How a variable of the configuration is written, and what it is in the program. */
export interface Variable {
  /** The seed's name, which goes before the others. */
  readonly name: string;
  /** Names that the variable has elsewhere: as fallback, in this order. */
  readonly otherNames?: readonly string[];
  readonly type: VariableType;
  /** As it would be written; null: none. */
  readonly default: string | null;
  /** What it is and what follows from it, with the unit. */
  readonly meaning: string;
  /** Given but empty is as wrong as invalid. Elsewhere it is as if it were not given. */
  readonly isCritical?: true;
  /** Given but empty means "none", and the default is not taken. */
  readonly emptyIsNone?: true;
  /** Without a value nothing starts. */
  readonly isRequired?: true;
  /** Smallest and largest number, as written. */
  readonly range?: readonly [number, number];
  /** For the type `choice`. */
  readonly choices?: readonly string[];
}

/**
 * `seconds` to `days` are written as numbers of these and become ms; `time` is HH:MM; `list` has
 * commas or semicolons between; `pattern` is a regular expression. A `secret` is never shown, and
 * is not read from the database.
 */
export type VariableType =
  | 'text'
  | 'secret'
  | 'url'
  | 'integer'
  | 'port'
  | 'boolean'
  | 'seconds'
  | 'minutes'
  | 'hours'
  | 'days'
  | 'time'
  | 'zone'
  | 'list'
  | 'pattern'
  | 'choice';

export type Variables = Readonly<Record<string, Variable>>;

type Known<V extends Variable> = V extends { readonly choices: readonly (infer C)[] }
  ? C
  : V['type'] extends 'integer' | 'port' | 'seconds' | 'minutes' | 'hours' | 'days'
    ? number
    : V['type'] extends 'boolean'
      ? boolean
      : V['type'] extends 'list'
        ? readonly string[]
        : V['type'] extends 'pattern'
          ? RegExp
          : string;

type Absent<V extends Variable> = V extends { readonly isRequired: true }
  ? never
  : V extends { readonly emptyIsNone: true } | { readonly default: null }
    ? null
    : never;

export type ValuesOf<T extends Variables> = {
  readonly [K in keyof T]: Known<T[K]> | Absent<T[K]>;
};
