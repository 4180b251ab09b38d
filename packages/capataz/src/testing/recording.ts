/** One message of a recorded HTTP exchange. */
export interface RecordedMessage {
  /** `C1`, … */
  readonly connection: string;
  readonly from: 'client' | 'server';
  /** `GET /path HTTP/1.1` or `HTTP/1.1 200 OK`. */
  readonly startLine: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Reads the recorder's text form: `--- C1>` or `--- C1<`, then the message with plain line breaks. */
export function parseRecording(text: string): RecordedMessage[] {
  const parts = text
    .replaceAll('\r\n', '\n')
    .split(/^--- (C\d+)([<>])\n/m)
    .slice(1);
  const messages: RecordedMessage[] = [];
  for (let index = 0; index + 2 < parts.length; index += 3) {
    const [connection = '', direction, content = ''] = parts.slice(index, index + 3);
    messages.push(message(connection, direction === '>' ? 'client' : 'server', content));
  }
  return messages;
}

function message(
  connection: string,
  from: RecordedMessage['from'],
  content: string,
): RecordedMessage {
  const end = content.indexOf('\n\n');
  const [startLine = '', ...lines] = (end === -1 ? content : content.slice(0, end)).split('\n');
  const body = end === -1 ? '' : content.slice(end + 2).replace(/\n+$/, '');
  return { connection, from, startLine, headers: headerMap(lines), body };
}

export function headerMap(lines: readonly string[]): Map<string, string> {
  const pairs = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return new Map(pairs);
}
