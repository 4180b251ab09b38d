import { type Bus, busSource, type EventHandler, type SubscriberOptions } from 'capataz/bus';
import { type Message, readMessage } from '../contract/messages.ts';
import { exchanges } from '../contract/names.ts';

interface LogFeedParts {
  readonly bus: Bus;
  readonly durable: string;
  readonly now: () => number;
  /** Whether anybody wants logs at all: only then it is asked whose a task is. */
  readonly isWatched: () => boolean;
  /** Null: of a task that there is not. */
  readonly ownerOf: (taskId: string) => Promise<string | null>;
  readonly tell: (owner: string, message: LogMessage) => void;
}

type LogName = 'log.debug' | 'log.info' | 'log.warn' | 'log.error';
export type LogMessage = Message<LogName>;

/** What waited while this gateway was away is no news any more. */
const staleMs = 60_000;
const maxWaiting = 1_000;
const maxOwners = 10_000;

/** `topico.logs`, for users who watch. Best effort from end to end: nothing becomes a dead letter. */
export function logFeed(parts: LogFeedParts): SubscriberOptions {
  const owners = new Map<string, string>();
  const ownerOf = async (taskId: string): Promise<string | null> => {
    const known = owners.get(taskId) ?? (await parts.ownerOf(taskId));
    if (known === null) return null;
    if (owners.size >= maxOwners) owners.clear();
    owners.set(taskId, known);
    return known;
  };
  const handle: EventHandler = async (event) => {
    if (!parts.isWatched() || parts.now() - event.time > staleMs) return;
    const read = readMessage(event);
    if (!read.ok || !isLog(read.message)) return;
    const owner = await ownerOf(read.message.taskId).catch(() => null);
    if (owner !== null) parts.tell(owner, read.message);
  };
  const { bus, durable } = parts;
  const queue = { durable, exchange: exchanges.logs, patterns: ['log.*'], maxLength: maxWaiting };
  return { name: 'gateway logs', source: busSource(bus, queue), handle };
}

function isLog(message: Message): message is LogMessage {
  return message.name.startsWith('log.');
}
