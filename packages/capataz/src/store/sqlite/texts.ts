import { assert } from '../../std/assert.ts';

/**
 * Payloads travel beside the JSON of a message, not inside it: JSON within JSON is escaped and
 * unescaped, and costs twice as much as all the rest of the message.
 */
export type TextRef = number;

/** Of the sending side. */
export class TextBag {
  readonly texts: string[] = [];

  add(text: string): TextRef {
    return this.texts.push(text) - 1;
  }
}

/** Of the receiving side. */
export function textAt(texts: readonly string[], ref: TextRef): string {
  const text = texts[ref];
  assert(text !== undefined, `a message came without its text ${ref}`);
  return text;
}

/** What a thread posts: a list as JSON, and for each member the texts that it refers to. */
export interface Parcel {
  readonly json: string;
  readonly texts: readonly (readonly string[])[];
}

interface MayHaveTexts {
  readonly type: string;
  readonly texts?: readonly string[];
}

export function parcelOf(messages: readonly MayHaveTexts[]): Parcel {
  return {
    json: JSON.stringify(messages.map(({ texts: _, ...plain }) => plain)),
    texts: messages.map(({ texts = [] }) => texts),
  };
}

export function messagesIn<Message>({ json, texts }: Parcel): Message[] {
  // Written by the other thread of the same program.
  const plain = JSON.parse(json) as object[];
  return plain.map((message, index) => ({ ...message, texts: texts[index] }) as Message);
}
