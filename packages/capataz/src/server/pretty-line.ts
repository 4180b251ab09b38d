/** Members that have a place of their own in the line. */
const placed = new Set(['time', 'level', 'message', 'error']);

/** `12:03:04.123 INFO  message job=… worker=…`; an error's stack follows on lines of its own. */
export function prettyLine(json: string): string {
  // Our own logger wrote the line.
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const level = String(line.level).toUpperCase().padEnd(5);
  const fields = Object.entries(line)
    .filter(([name]) => !placed.has(name))
    .map(
      ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
  return `${localTime(String(line.time))} ${level} ${line.message}${fields.join('')}${errorText(line.error)}\n`;
}

function localTime(iso: string): string {
  const time = new Date(iso);
  const milliseconds = String(time.getMilliseconds()).padStart(3, '0');
  return `${time.toTimeString().slice(0, 8)}.${milliseconds}`;
}

function errorText(error: unknown): string {
  if (error === undefined) return '';
  if (typeof error === 'object' && error !== null && 'stack' in error) return `\n${error.stack}`;
  return ` error=${typeof error === 'string' ? error : JSON.stringify(error)}`;
}
