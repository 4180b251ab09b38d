import type { Log, LogFields, LogLevel } from '../std/log.ts';

export interface LoggedLine {
  readonly level: LogLevel;
  readonly message: string;
  /** Those of the log that a child came from, too. */
  readonly fields: LogFields;
}

export interface ListeningLog {
  readonly log: Log;
  readonly lines: LoggedLine[];
}

/** Keeps what is said to it. */
export function listeningLog(): ListeningLog {
  const lines: LoggedLine[] = [];
  return { log: logOn(lines, {}), lines };
}

function logOn(lines: LoggedLine[], own: LogFields): Log {
  const at =
    (level: LogLevel): Log['info'] =>
    (message, fields = {}) => {
      lines.push({ level, message, fields: { ...own, ...fields } });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => logOn(lines, { ...own, ...fields }),
  };
}
