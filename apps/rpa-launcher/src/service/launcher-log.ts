import { type Clock, type Log, oneLine } from 'capataz/server';
import type { LauncherSettings } from '../config/settings.ts';
import { DailyFile } from './daily-file.ts';
import { wallTime } from './wall-time.ts';

export interface LauncherLogOptions {
  readonly settings: Pick<
    LauncherSettings,
    'logLevel' | 'logFolder' | 'logFileName' | 'logFiles' | 'zone'
  >;
  /** Of the settings: blotted out wherever they would appear. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
  readonly console: { write(text: string): unknown };
}

type Fields = Parameters<Log['info']>[1];
type Level = LauncherSettings['logLevel'];

const levels: readonly Level[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'];

/** What is shorter would blot out half of what is said. */
const leastSecretChars = 6;

/**
 * Lines as the launcher has always written them, to the console from INFO on and to a file of each
 * day: `2025-11-21 14:30:15 [INFO] lanzador.desplegador: Robot 123 …`. The module is the field
 * `module` of a child; an error with the field `critical` is CRITICAL; other fields follow the message.
 */
export function createLauncherLog(options: LauncherLogOptions): Log {
  const { settings, clock, console } = options;
  const { logFolder: folder, logFileName: name, logFiles: kept, zone } = settings;
  const say = (text: string): unknown => console.write(text);
  const file = folder === null ? null : new DailyFile({ folder, name, kept, zone, clock, say });
  const least = levels.indexOf(settings.logLevel);
  const secrets = options.secrets.filter(({ length }) => length >= leastSecretChars);

  function write(level: Level, message: string, fields: Readonly<Record<string, unknown>>): void {
    const rank = levels.indexOf(level);
    if (rank < least) return;
    const { module = 'lanzador', critical: _, error, ...rest } = fields;
    // What others say must not look like lines of our own.
    const said = `${oneLine(`${String(module)}: ${message}${fieldText(rest)}`)}${errorText(error)}`;
    const line = `${wallTime(clock.now(), zone)} [${level}] ${blotted(said, secrets)}\n`;
    if (rank >= levels.indexOf('INFO')) say(line);
    file?.write(line);
  }

  function logWith(own: Readonly<Record<string, unknown>>): Log {
    const at = (level: Level) => (message: string, fields?: Fields) =>
      write(level, message, { ...own, ...fields });
    return {
      debug: at('DEBUG'),
      info: at('INFO'),
      warn: at('WARNING'),
      error: (message, fields) =>
        at(fields?.critical === true ? 'CRITICAL' : 'ERROR')(message, fields),
      child: (fields) => logWith({ ...own, ...fields }),
    };
  }
  return logWith({});
}

function fieldText(fields: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

function errorText(error: unknown): string {
  if (error === undefined) return '';
  return `: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function blotted(text: string, secrets: readonly string[]): string {
  return secrets.reduce((said, secret) => said.replaceAll(secret, '********'), text);
}
