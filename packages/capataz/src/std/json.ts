/** JSON values as they cross the wire and lie in the stores. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The one text form of a value: keys sorted, no spaces, no undefined members. Every store keeps
 * payloads in this form and every hash is taken over it, so that equal values are equal texts.
 * Keys are sorted by UTF-16 unit as `Array.sort` does; RXON signatures need another order and
 * have a function of their own.
 * What JSON has no word for (a function, NaN) becomes null, as in an array of JSON.stringify.
 * @throws TypeError for a bigint, RangeError for a cycle or a value nested beyond the stack.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol') return 'null';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') return canonicalJson(value.toJSON());
  let text = '';
  for (const key of sortedKeys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined || typeof member === 'function' || typeof member === 'symbol')
      continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Most records come from a canonical copy: not to sort them again halved the time of a copy. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  let last = '';
  for (const key of keys) {
    if (key < last) return keys.sort();
    last = key;
  }
  return keys;
}

/** `JSON.parse(canonicalJson(value))`, in a third of its time: there is no text in between. */
export function canonicalCopy<T>(value: T): T {
  return copyValue(value) as T;
}

function copyValue(value: unknown): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  // A sum with zero has no negative zero, as the text has none.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === 'bigint') throw new TypeError('JSON has no bigint');
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return value.map(copyValue);
  if ('toJSON' in value && typeof value.toJSON === 'function') return copyValue(value.toJSON());
  const copy: JsonObject = {};
  for (const key of sortedKeys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined || typeof member === 'function' || typeof member === 'symbol')
      continue;
    // An assignment to this name would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, ownMember(copyValue(member)));
    else copy[key] = copyValue(member);
  }
  return copy;
}

function ownMember(value: JsonValue): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

/**
 * Freezes a value through and through and returns it. A frozen root was frozen here before, which
 * makes every further call cheap.
 */
export function frozenJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) frozenJson(member);
  return Object.freeze(value);
}

/** The deepest nesting that is let in. Ours never goes beyond 10; 64 leaves room for documents. */
export const maxJsonDepth = 64;

// A NUL and a lone surrogate are legal JSON and can't be stored as text in PostgreSQL; `__proto__`
// as a key would change the prototype of whatever it is merged into; 1e999 is legal and read as
// Infinity. Each has several spellings, so the test is wide (any escape of the first 256 or of a
// surrogate, any number of 200 digits or with an exponent of three) and the cleaning exact.
const suspect =
  /\\u(?:00|[dD][89a-fA-F])|__proto__|(?:^|[:,[\s])-?\d(?:[\d.]*[eE]\+?\d{3}|[\d.]{199})/;

const valueWeight = 8;

/** How much a value may still weigh, as `jsonWeight` counts; below zero once it was too much. */
export interface JsonRoom {
  left: number;
}

/**
 * Makes a value storable by one rule for all stores: U+0000 and lone surrogates become U+FFFD,
 * members named `__proto__` or without a value are dropped, what has `toJSON` is asked for it, and
 * numbers that are none become null. Numbers are IEEE doubles as JSON.parse reads them (RFC 8259
 * section 6): what needs more than 53 bits travels as a string.
 * @returns the cleaned copy, or undefined where it holds what JSON can't (a function, a bigint), is
 * nested deeper than `maxJsonDepth`, as a cycle is, or takes more than `room`, which then is below 0.
 */
export function cleanJson(
  value: unknown,
  depth = 0,
  room: JsonRoom = { left: Number.POSITIVE_INFINITY },
): JsonValue | undefined {
  room.left -= typeof value === 'string' ? valueWeight + value.length : valueWeight;
  if (room.left < 0) return undefined;
  switch (typeof value) {
    case 'string':
      return cleanText(value);
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return null;
      if (depth >= maxJsonDepth) return undefined;
      if (Array.isArray(value)) return cleanArray(value, depth, room);
      if ('toJSON' in value && typeof value.toJSON === 'function') {
        return cleanJson(value.toJSON(), depth + 1, room);
      }
      return cleanObject(value as Readonly<Record<string, unknown>>, depth, room);
    default:
      return undefined;
  }
}

function cleanArray(
  values: readonly unknown[],
  depth: number,
  room: JsonRoom,
): JsonValue[] | undefined {
  const cleaned: JsonValue[] = [];
  for (const value of values) {
    const member = cleanJson(value ?? null, depth + 1, room);
    if (member === undefined) return undefined;
    cleaned.push(member);
  }
  return cleaned;
}

function cleanObject(
  object: Readonly<Record<string, unknown>>,
  depth: number,
  room: JsonRoom,
): JsonObject | undefined {
  const cleaned: JsonObject = {};
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (key === '__proto__' || value === undefined) continue;
    room.left -= key.length;
    const member = cleanJson(value, depth + 1, room);
    if (member === undefined) return undefined;
    cleaned[cleanText(key)] = member;
  }
  return cleaned;
}

export function cleanText(text: string): string {
  return text.isWellFormed() && !text.includes('\0')
    ? text
    : text.toWellFormed().replaceAll('\0', '\ufffd');
}

export type ParsedJson =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly problem: 'syntax' | 'depth' | 'size' };

/**
 * Most commas and opening brackets of a text that is let in, which is about the number of its
 * values. Parsed, an empty object takes some twenty times its text: 4 MiB of them would be 100 MB.
 */
export const maxJsonValues = 250_000;

/**
 * Parses text from outside into a storable value. The common text holds nothing that needs
 * cleaning and is walked only for its shape.
 */
export function parseJson(text: string): ParsedJson {
  const problem = shapeProblem(text);
  if (problem !== null) return { ok: false, problem };
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return { ok: false, problem: 'syntax' };
  }
  if (text.isWellFormed() && !suspect.test(text)) return { ok: true, value };
  const cleaned = cleanJson(value);
  return cleaned === undefined ? { ok: false, problem: 'depth' } : { ok: true, value: cleaned };
}

/**
 * Counts brackets and commas outside strings before parsing, so that no parser meets 10,000 levels
 * or a million values.
 */
function shapeProblem(text: string): 'depth' | 'size' | null {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === 0x5c) index += 1;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x2c) values += 1;
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      values += 1;
      if (depth > maxJsonDepth) return 'depth';
    } else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return values > maxJsonValues ? 'size' : null;
}

/**
 * How much a value holds: the characters of its texts and keys, and eight for each value, which
 * stands for what it takes of memory however short its text is.
 * @returns the weight, or some number above `limit` where it weighs more: counting stops there, so
 * that a cycle, or parts that are shared many times, end too. What `toJSON` would give isn't asked.
 */
export function jsonWeight(value: unknown, limit: number): number {
  let weight = valueWeight;
  const pending: unknown[] = [value];
  while (pending.length > 0 && weight <= limit) {
    const next = pending.pop();
    if (typeof next === 'string') weight += next.length;
    if (typeof next !== 'object' || next === null) continue;
    // Counted before they are looked at, so that what is pending can't outgrow the limit either.
    if (Array.isArray(next)) weight += valueWeight * next.length;
    else for (const key of Object.keys(next)) weight += valueWeight + key.length;
    if (weight <= limit) for (const member of Object.values(next)) pending.push(member);
  }
  return weight;
}
