/** The command `capataz-rpa`: acts when it is loaded. */
import { CapatazError } from 'capataz';
import { type Log, systemClock } from 'capataz/server';
import { watchControlRoom } from './alerts/watched-control-room.ts';
import { launcherServer } from './application.ts';
import { variablesCommand } from './cli/variables.ts';
import { environmentSource } from './config/environment.ts';
import { findSettings } from './config/merge.ts';
import { secretsOf } from './config/secrets.ts';
import {
  alertsOf,
  controlRoomOf,
  effectiveSettings,
  gatewayHeadersOf,
  sourcesOf,
} from './real-parts.ts';
import { createLauncherLog } from './service/launcher-log.ts';

const places = { environment: environmentSource(), directory: process.cwd(), envFile: null };
const read = (stored: Readonly<Record<string, string>> = {}) =>
  effectiveSettings({ ...places, stored });

const args = process.argv.slice(2);
const log = args[0] === 'serve' ? serviceLog() : null;
const server = launcherServer({
  ...(log === null ? {} : { log }),
  settings: (stored, setup) => {
    const { values, warnings } = read(stored);
    for (const warning of warnings) setup?.log.warn(warning);
    return values;
  },
  shutdownTimeoutMs: () => read().values.shutdownTimeoutMs,
  alerts: alertsOf,
  controlRoom: (settings, alerts, setup) =>
    watchControlRoom(controlRoomOf(settings, setup), alerts),
  gatewayHeaders: gatewayHeadersOf,
  furtherCommands: [variablesCommand((stored) => findSettings(sourcesOf({ ...places, stored })))],
});

process.exitCode = await server.run(args);

/** The lines that operators know. Where the settings are wrong the start says so in its own words. */
function serviceLog(): Log | null {
  try {
    const settings = read().values;
    const secrets = secretsOf(settings);
    return createLauncherLog({ settings, secrets, clock: systemClock, console: process.stderr });
  } catch (error) {
    if (error instanceof CapatazError && error.code === 'CONFIG_INVALID') return null;
    throw error;
  }
}
