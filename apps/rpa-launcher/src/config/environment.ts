import type { SettingSource } from './merge.ts';

/** The one reader of the environment. */
export function environmentSource(): SettingSource {
  return { name: 'environment', values: process.env };
}
