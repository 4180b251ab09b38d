import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { type Clock, systemClock } from '../std/clock.ts';
import type { Log, LogFields, LogLevel } from '../std/log.ts';
import { prettyLine, timeIn } from './pretty-line.ts';

export interface LogOptions {
  /** Least level that is written. Default `info`. */
  readonly level?: LogLevel;
  /** `pretty`: one line for people, with the time of `zone`. Default `json`, with time in UTC. */
  readonly format?: 'json' | 'pretty';
  /** IANA zone. Default: that of the process. */
  readonly zone?: string;
  /** Where lines go. Default: standard output. */
  readonly to?: { write(text: string): unknown };
  readonly clock?: Clock;
}

/** A log that writes one line an event, with the fields of the line's job, task and worker. */
export function createLog({
  level = 'info',
  format = 'json',
  zone,
  to = process.stdout,
  clock = systemClock,
}: LogOptions = {}): Log {
  const time = timeIn(zone);
  const destination: DestinationStream = {
    write: (line) => to.write(format === 'pretty' ? prettyLine(line, time) : line),
  };
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      errorKey: 'error',
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: serializeError },
    },
    destination,
  );
  return adapted(logger);
}

function adapted(logger: Logger): Log {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    child: (fields: LogFields) => adapted(logger.child(fields)),
  };
}

/** What is thrown need not be an error. */
function serializeError(error: unknown): unknown {
  return error instanceof Error ? stdSerializers.errWithCause(error) : String(error);
}
