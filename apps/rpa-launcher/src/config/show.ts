import type { EffectiveSettings } from './merge.ts';
import { type LauncherSettings, variables } from './settings.ts';
import type { Variable } from './variable.ts';

/** One line of what `config` shows. */
export interface ShownSetting {
  /** The seed's name. */
  readonly variable: string;
  /** As it would be written; secrets masked. Empty: none. */
  readonly value: string;
  /** `default`, or where it was found, with the name where that is another. */
  readonly source: string;
  readonly meaning: string;
}

/** Every effective value, in the order of the tables. */
export function showSettings({ origins }: EffectiveSettings): ShownSetting[] {
  return Object.entries<Variable>(variables).map(([key, variable]) => {
    // The entries are those of `variables`, which has the names of the settings.
    const { text, source, variable: found } = origins[key as keyof LauncherSettings];
    const isSecret = variable.type === 'secret' && text !== null && text !== '';
    const alias = found === variable.name ? '' : ` (${found})`;
    return {
      variable: variable.name,
      value: isSecret ? '********' : (text ?? ''),
      source: source === null ? 'default' : `${source}${alias}`,
      meaning: variable.meaning,
    };
  });
}
