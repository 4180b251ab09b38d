/**
 * What a line is about. The five names are the same in every part of the product, so that one
 * search finds a job's whole way.
 */
export interface LogFields {
  readonly job?: string;
  /** The task's stable id, not the attempt's. */
  readonly task?: string;
  readonly attempt?: string;
  readonly worker?: string;
  readonly correlation?: string;
  /** An error, whose message, code and stack are logged. */
  readonly error?: unknown;
  readonly [name: string]: unknown;
}

/** Where lines go. Tokens, payloads and results are never among the fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line carries these fields too. */
  child(fields: LogFields): Log;
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Says nothing: the default of everything that takes a log. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
