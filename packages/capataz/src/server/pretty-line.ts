/** Members that have a place of their own in the line. */
const placed = new Set(['time', 'level', 'message', 'error']);

/** `12:03:04.123 INFO  message job=… worker=…`; an error's stack follows on lines of its own. */
export function prettyLine(json: string, time: Intl.DateTimeFormat): string {
  // Our own logger wrote the line.
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const level = String(line.level).toUpperCase().padEnd(5);
  const fields = Object.entries(line)
    .filter(([name]) => !placed.has(name))
    .map(
      ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
  return `${timeOf(String(line.time), time)} ${level} ${line.message}${fields.join('')}${errorText(line.error)}\n`;
}

/** The wall's time in a zone; default: that of the process. */
export function timeIn(zone: string | undefined): Intl.DateTimeFormat {
  // The Swedish form is ISO's, but for the comma.
  return new Intl.DateTimeFormat('sv-SE', {
    ...(zone === undefined ? {} : { timeZone: zone }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  });
}

function timeOf(iso: string, time: Intl.DateTimeFormat): string {
  return time.format(new Date(iso)).replace(',', '.');
}

function errorText(error: unknown): string {
  if (error === undefined) return '';
  if (typeof error === 'object' && error !== null && 'stack' in error) return `\n${error.stack}`;
  return ` error=${typeof error === 'string' ? error : JSON.stringify(error)}`;
}
