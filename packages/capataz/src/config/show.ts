import { formatDuration } from '../std/duration.ts';
import type { EffectiveConfig } from './load.ts';
import { fileKey, type SettingName, settingNames, settingOf } from './settings.ts';

/** A line of `capataz config`. */
export interface ShownSetting {
  readonly key: string;
  readonly value: string | number | null;
  readonly source: string;
  readonly meaning: string;
}

/** Every effective value with its source; of a secret only that there is one. */
export function showConfig({ values, sources }: EffectiveConfig): ShownSetting[] {
  return settingNames.map((name) => ({
    key: fileKey(name),
    value: shownValue(name, values[name]),
    source: sources[name],
    meaning: settingOf(name).meaning,
  }));
}

function shownValue(name: SettingName, value: string | number | null): string | number | null {
  const { secret, type } = settingOf(name);
  if (value === null) return null;
  if (secret) return '********';
  return type === 'duration' ? formatDuration(Number(value)) : value;
}
