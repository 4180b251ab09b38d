export interface ReceivedEvent {
  readonly id: string | undefined;
  /** `message` where the stream names none. */
  readonly name: string;
  readonly data: string;
}

/** Far above any entry; a stream that exceeds it is none of ours. */
const maxEventLength = 64 * 1024 * 1024;

/**
 * Reads server-sent events. `onBytes` is called with every piece that arrives, heartbeats included.
 * @throws RangeError for an event without end
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ReceivedEvent, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    onBytes();
    rest += decoder.decode(bytes, { stream: true });
    const blocks = rest.split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop() ?? '';
    if (rest.length > maxEventLength) throw new RangeError('an event has no end');
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== undefined) yield event;
    }
  }
}

function parseBlock(block: string): ReceivedEvent | undefined {
  let id: string | undefined;
  let name = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') id = value;
    else if (field === 'event') name = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 && id === undefined ? undefined : { id, name, data: data.join('\n') };
}
