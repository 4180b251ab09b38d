import { formatDuration } from '../std/duration.ts';
import type { EffectiveConfig, EffectiveSettings } from './load.ts';
import { fileKey, type Setting, type SettingDeclarations, type SettingValue } from './setting.ts';
import { settings } from './settings.ts';

/** A line of `capataz config`. */
export interface ShownSetting {
  readonly key: string;
  readonly value: SettingValue | null;
  readonly source: string;
  readonly meaning: string;
}

export function showConfig(config: EffectiveConfig): ShownSetting[] {
  return showSettings(settings, config);
}

/** Every effective value with its source; of a secret only that there is one. */
export function showSettings(
  declared: SettingDeclarations,
  {
    values,
    sources,
  }: Pick<EffectiveSettings<Readonly<Record<string, SettingValue | null>>>, 'values' | 'sources'>,
): ShownSetting[] {
  return Object.entries(declared).map(([name, setting]) => ({
    key: fileKey(name),
    value: shownValue(setting, values[name] ?? null),
    source: sources[name] ?? 'default',
    meaning: setting.meaning,
  }));
}

function shownValue(
  { secret, words, type, canBeOff }: Setting,
  value: SettingValue | null,
): SettingValue | null {
  if (value === null) return null;
  if (Array.isArray(value)) return value.length === 1 ? '1 entry' : `${value.length} entries`;
  if (canBeOff === true && value === 0) return 'off';
  if (secret && words?.includes(String(value)) !== true) return '********';
  return type === 'duration' ? formatDuration(Number(value)) : value;
}
