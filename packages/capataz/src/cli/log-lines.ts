import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
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
 * The lines of a log file that carry a correlation id, read as a stream: logs are large. Others than
 * JSON, as a crash or another program leaves them, are passed over; a file that has none but those is
 * no log of ours.
 * @throws UsageError where the file can't be read, or is none of JSON lines
 */
export async function linesOf(file: string, correlation: string): Promise<LogLine[]> {
  const found: LogLine[] = [];
  let hasText = false;
  let hasJson = false;
  try {
    for await (const text of createInterface({ input: createReadStream(file, 'utf8') })) {
      hasText ||= text.trim() !== '';
      const line = lineOf(text.replace(/^\ufeff/, ''));
      hasJson ||= line !== null;
      if (line?.correlation === correlation) found.push(line);
    }
  } catch (error) {
    throw new UsageError(`--log ${file}: ${error instanceof Error ? error.message : error}`);
  }
  if (hasJson || !hasText) return found;
  throw new UsageError(
    `--log ${file}: no line is JSON; set CAPATAZ_LOG_FORMAT=json where the log is written`,
  );
}

function lineOf(text: string): LogLine | null {
  try {
    const value: JsonValue = JSON.parse(text);
    return isJsonObject(value) && isLogLine(value) ? value : null;
  } catch {
    return null;
  }
}

function isLogLine(value: {
  readonly [field: string]: JsonValue;
}): value is LogLine & typeof value {
  const { time } = value;
  const isTexts = ['time', 'level', 'message'].every((name) => typeof value[name] === 'string');
  return isTexts && !Number.isNaN(Date.parse(String(time)));
}
