import { styleText } from 'node:util';
import type { HistoryView } from '../client/index.ts';
import { formatDuration } from '../std/duration.ts';
import { isJsonObject } from '../std/json.ts';

/** Where a command writes. */
export interface Output {
  write(text: string): void;
  /** A terminal: colours and the log for people. */
  readonly isTerminal: boolean;
}

export type Style = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Writes what people read: columns, instants in their zone, colours on a terminal only. */
export class Printer {
  readonly #output: Output;
  readonly #zone: string;
  readonly #time: Intl.DateTimeFormat;
  /** Id of an attempt → its number: the book tells both only where it is handed out. */
  readonly #attempts = new Map<string, string>();
  /** When the present state of a job was entered, and when an attempt was handed out. */
  readonly #begun = new Map<string, number>();

  constructor(output: Output, zone: string) {
    this.#output = output;
    this.#zone = zone;
    // The Swedish form is ISO's: 2026-01-31 23:59:59.
    this.#time = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  }

  line(text = ''): void {
    this.#output.write(`${text}\n`);
  }

  /** One document, for programs. */
  json(value: unknown): void {
    this.line(JSON.stringify(value, null, 2));
  }

  /** One line of a stream, for programs. */
  jsonLine(value: unknown): void {
    this.line(JSON.stringify(value));
  }

  style(style: Style, text: string): string {
    return this.#output.isTerminal ? styleText(style, text, { validateStream: false }) : text;
  }

  /** @param iso an instant as the wire has it */
  time(iso: string): string {
    return this.#time.format(new Date(iso)).replace(',', '');
  }

  /** Says in which zone instants are shown, once where it matters. */
  get zone(): string {
    return this.#zone;
  }

  /** Columns under a header; the last one is not padded. */
  table(header: readonly string[], rows: readonly (readonly string[])[]): void {
    const widths = header.map((title, column) =>
      Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
    );
    const lineOf = (cells: readonly string[]): string =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd();
    this.line(this.style('dim', lineOf(header)));
    for (const row of rows) this.line(lineOf(row));
  }

  /** Names and values, one a line. */
  fields(pairs: readonly (readonly [string, string | null])[]): void {
    const shown = pairs.filter(([, value]) => value !== null);
    const width = Math.max(...shown.map(([name]) => name.length));
    for (const [name, value] of shown) {
      this.line(`${this.style('dim', name.padEnd(width))}  ${value}`);
    }
  }

  /**
   * An entry of a job's book: time, what happened, state, worker, attempt, why, and how long what it
   * ends has taken. Entries of a job come in their order.
   * @param job its id, where entries of several are told.
   */
  entry(entry: HistoryView, job?: string): void {
    const { type } = entry;
    const parts = [
      labelled('job', job ?? null),
      stateOf(entry),
      labelled('worker', text(entry, 'worker')),
      labelled('attempt', this.#attemptOf(entry)),
      text(entry, 'reason'),
      refusedOf(entry),
      emittedOf(entry),
      labelled('by', text(entry, 'actor')),
      labelled('took', this.#durationOf(entry, job ?? '')),
    ].filter((part) => part !== null);
    const name = this.style(entryStyle(type), type.padEnd(16));
    this.line(`${this.style('dim', this.time(entry.at))}  ${name}  ${parts.join('  ')}`.trimEnd());
  }

  #attemptOf(entry: HistoryView): string | null {
    // Elsewhere the number counts something else.
    if (!/^(?:task|handler|report)_/.test(entry.type)) return null;
    const id = text(entry, 'attempt');
    const number = typeof entry.number === 'number' ? String(entry.number) : null;
    if (id !== null && number !== null) this.#attempts.set(id, number);
    return number ?? (id === null ? null : (this.#attempts.get(id) ?? id));
  }

  /** Of the state that is left, the attempt that is over, or the whole job; null where nothing ends. */
  #durationOf(entry: HistoryView, job: string): string | null {
    const { type } = entry;
    const at = Date.parse(entry.at);
    const attempt = text(entry, 'attempt') ?? '';
    const isState = type === 'state_entered';
    const isOver = /^(?:task|handler)_(?:finished|failed|lost|requeued|timed_out|cancelled)$/;
    let begun: number | undefined;
    if (isState) begun = this.#begun.get(`state of ${job}`);
    else if (isOver.test(type)) begun = this.#begun.get(`attempt ${attempt}`);
    else if (/^job_(?:finished|failed|cancelled)$/.test(type))
      begun = this.#begun.get(`job ${job}`);
    if (type === 'job_created') this.#begun.set(`job ${job}`, at);
    if (isState) this.#begun.set(`state of ${job}`, at);
    if (type === 'task_assigned' || type === 'handler_claimed')
      this.#begun.set(`attempt ${attempt}`, at);
    return begun === undefined ? null : formatDuration(at - begun);
  }
}

/** Text from elsewhere, without what a terminal would obey. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return plainText(text.replaceAll(/\s+/g, ' '));
}

export function statusStyle(status: string): Style {
  if (status === 'finished') return 'green';
  return status === 'failed' || status === 'quarantined' ? 'red' : 'yellow';
}

function entryStyle(type: string): Style {
  if (type === 'job_finished' || type === 'task_finished') return 'green';
  return /failed|quarantined|lost|refused|timed_out/.test(type) ? 'red' : 'bold';
}

function stateOf(entry: HistoryView): string | null {
  const state = text(entry, 'to') ?? text(entry, 'state');
  const from = text(entry, 'from');
  return from === null ? state : `${from} → ${state ?? '?'}`;
}

/** What was refused: `signal shipped`. */
function refusedOf({ type, details }: HistoryView): string | null {
  if (type !== 'signal_refused' || typeof details !== 'object' || details === null) return null;
  const what = 'what' in details ? details.what : null;
  if (typeof what !== 'string') return null;
  return oneLine('said' in details ? `${what}: ${details.said}` : what);
}

/** What was emitted: `order.paid to orders`. */
function emittedOf({ type, details }: HistoryView): string | null {
  if (type !== 'event_emitted' || !isJsonObject(details)) return null;
  const { name, exchange, id } = details;
  return `${oneLine(`${name} to ${exchange}`)}  event ${id}`;
}

function text(entry: HistoryView, field: string): string | null {
  const value = entry[field];
  return typeof value === 'string' ? oneLine(value) : null;
}

function labelled(label: string, value: string | null): string | null {
  return value === null ? null : `${label} ${value}`;
}
