import { type FoundSettings, wrongSettings } from '../config/merge.ts';
import { showSettings } from '../config/show.ts';
import { storedSettings, tablesPlace } from '../declared.ts';
import { openDatabase } from '../tables/database.ts';
import { type LauncherCommand, show } from './context.ts';

/** Every variable of the launcher with its effective value and where that is from; then what is wrong with them. */
export function variablesCommand(
  find: (stored: Readonly<Record<string, string>>) => FoundSettings,
): LauncherCommand {
  return {
    name: 'variables',
    description: 'Show every variable of the launcher, its effective value and its source.',
    needsServer: false,
    run: async (context) => {
      const database = await openDatabase(tablesPlace(context.config, context.settings));
      const stored = await storedSettings(database).finally(() => database.close());
      const found = find(stored);
      show(context, ['variable', 'value', 'source'], showSettings(found));
      if (found.problems.length > 0) throw wrongSettings(found.problems);
    },
  };
}
