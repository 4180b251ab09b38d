import { type LauncherSettings, variables } from './settings.ts';
import type { Variable } from './variable.ts';

/** The values that no log may show. */
export function secretsOf(settings: LauncherSettings): string[] {
  const values = new Map<string, unknown>(Object.entries(settings));
  return Object.entries<Variable>(variables).flatMap(([name, { type }]) => {
    const value = values.get(name);
    return type === 'secret' && typeof value === 'string' ? [value] : [];
  });
}
