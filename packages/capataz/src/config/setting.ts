/** A setting `dataDir` is `--data-dir`, `CAPATAZ_DATA_DIR` and `data_dir`. */
export interface Setting {
  readonly type: SettingType;
  /** As it would stand in the file; null: none. */
  readonly default: string | number | boolean | null;
  /** What it is and what follows from it, with the unit. */
  readonly meaning: string;
  /** Names in the environment that the seeds gave it (S-51). */
  readonly aliases?: readonly Alias[];
  /** Shown masked, and also read from the file that `CAPATAZ_…_FILE` (`…_file`) names. */
  readonly secret?: true;
  /** Values of a secret that are none, and are shown. */
  readonly words?: readonly string[];
  /** For the type `choice`. */
  readonly choices?: readonly string[];
  /** Smallest and largest number. */
  readonly range?: readonly [number, number];
  /** For the type `url`: paths are put behind it, so that it has no query and no fragment. */
  readonly isBase?: true;
  /** `off` and 0 switch it off; the value is 0 then, and shown as `off`. */
  readonly canBeOff?: true;
  /** For the type `string`: an empty text is a value, too. */
  readonly canBeEmpty?: true;
  /** For the type `tables`: what each of them may have. No secrets, and no tables. */
  readonly fields?: SettingDeclarations;
}

/**
 * `path`: must exist, unless it is the default. `folder`: is made when it is needed. `tables`: any
 * number of `[[name]]`, in the file alone.
 */
export type SettingType =
  | 'string'
  | 'choice'
  | 'port'
  | 'duration'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'path'
  | 'folder'
  | 'url'
  | 'zone'
  | 'tables';

export interface Alias {
  readonly name: string;
  /** The alias is a bare number of seconds. */
  readonly unit?: 'seconds';
}

export type SettingDeclarations = Readonly<Record<string, Setting>>;

export type SettingValue = string | number | boolean | readonly SettingTableValue[];

/** One `[[name]]`: a value for each of its fields. */
export type SettingTableValue = Readonly<Record<string, string | number | boolean | null>>;

/** Of a setting that nobody knows yet: any value there can be. */
type ValueOf<S extends Setting> = [Setting] extends [S]
  ? SettingValue | null
  : S extends { readonly fields: infer F extends SettingDeclarations }
    ? readonly SettingValues<F>[]
    : KnownValue<S>;

type KnownValue<S extends Setting> =
  | (S['type'] extends 'port' | 'integer' | 'number' | 'duration'
      ? number
      : S['type'] extends 'boolean'
        ? boolean
        : S extends { readonly choices: readonly (infer C)[] }
          ? C
          : string)
  | (S['default'] extends null ? null : never)
  | (S['type'] extends 'path' ? null : never);

/**
 * The effective value of every setting. Durations are ms, paths are absolute; a `path` is null when
 * it was not given and its default does not exist.
 */
export type SettingValues<D extends SettingDeclarations> = {
  readonly [K in keyof D]: ValueOf<D[K]>;
};

/** `dataDir` → `data_dir`. */
export function fileKey(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export const ownPrefix = 'CAPATAZ_';

/** `dataDir` → `CAPATAZ_DATA_DIR`. */
export function environmentName(name: string, prefix = ownPrefix): string {
  return `${prefix}${fileKey(name).toUpperCase()}`;
}

/** `dataDir` → `--data-dir`. */
export function flagName(name: string): string {
  return `--${fileKey(name).replaceAll('_', '-')}`;
}
