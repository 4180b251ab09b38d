import type { Config } from '../config/settings.ts';
import { createLog } from '../server/log.ts';
import type { Log } from '../std/log.ts';
import type { CliContext } from './context.ts';

/** The log of a process, on standard error: standard output belongs to what was asked for. */
export function processLog(
  { logLevel, logFormat, timeZone: zone }: Config,
  context: CliContext,
): Log {
  const { application, stderr, clock } = context;
  if (application.log !== null) return application.log;
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && stderr.isTerminal);
  const format = isPretty ? 'pretty' : 'json';
  return createLog({ level: logLevel, format, zone, to: stderr, clock });
}
