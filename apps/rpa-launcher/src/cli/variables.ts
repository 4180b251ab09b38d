import type { EffectiveSettings } from '../config/merge.ts';
import { showSettings } from '../config/show.ts';
import { type LauncherCommand, show, withTables } from './context.ts';

/** Every variable of the launcher with its effective value and where that comes from. */
export function variablesCommand(
  read: (stored: Readonly<Record<string, string>>) => EffectiveSettings,
): LauncherCommand {
  return {
    name: 'variables',
    description: 'Show every variable of the launcher, its effective value and its source.',
    needsServer: false,
    run: (context) => {
      let found: EffectiveSettings | null = null;
      const settings = (stored: Readonly<Record<string, string>>) => {
        found = read(stored);
        return found.values;
      };
      return withTables(context, { now: () => 0, settings }, async () => {
        if (found !== null) show(context, ['variable', 'value', 'source'], showSettings(found));
      });
    },
  };
}
