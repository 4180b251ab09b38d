import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonValue } from '../std/json.ts';
import { UsageError } from './exit.ts';

/** A line as `server/log.ts` writes it. */
export interface LogLine {
  readonly time: string;
  readonly level: string;
  readonly message: string;
  readonly correlation: string;
  readonly [field: string]: JsonValue;
}

/**
 * The lines of a log file that carry a correlation id. Others than JSON, as a crash or another
 * program leaves them, are passed over; a file that has none but those is no log of ours.
 * @throws UsageError where the file can't be read, or is none of JSON lines
 */
export function linesOf(file: string, correlation: string): LogLine[] {
  const lines = textOf(file)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const parsed = lines.flatMap(jsonOf);
  if (lines.length > 0 && parsed.length === 0) {
    throw new UsageError(
      `--log ${file}: no line is JSON; set CAPATAZ_LOG_FORMAT=json where the log is written`,
    );
  }
  return parsed.filter((line) => line.correlation === correlation);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--log ${file}: ${error instanceof Error ? error.message : error}`);
  }
}

function jsonOf(text: string): LogLine[] {
  try {
    const value: JsonValue = JSON.parse(text);
    return isJsonObject(value) && isLogLine(value) ? [value] : [];
  } catch {
    return [];
  }
}

function isLogLine(value: {
  readonly [field: string]: JsonValue;
}): value is LogLine & typeof value {
  return ['time', 'level', 'message'].every((name) => typeof value[name] === 'string');
}
