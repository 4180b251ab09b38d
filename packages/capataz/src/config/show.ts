import { formatDuration } from '../std/duration.ts';
import type { EffectiveConfig } from './load.ts';
import { fileKey, type SettingName, settingNames, settingOf } from './settings.ts';
import type { SettingValue } from './values.ts';

/** A line of `capataz config`. */
export interface ShownSetting {
  readonly key: string;
  readonly value: SettingValue | null;
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

function shownValue(name: SettingName, value: SettingValue | null): SettingValue | null {
  const { secret, type, canBeOff } = settingOf(name);
  if (value === null) return null;
  if (canBeOff === true && value === 0) return 'off';
  if (secret) return '********';
  return type === 'duration' ? formatDuration(Number(value)) : value;
}
