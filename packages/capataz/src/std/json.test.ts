import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  canonicalCopy,
  canonicalJson,
  cleanJson,
  cleanText,
  frozenJson,
  isJsonObject,
  type JsonValue,
  jsonWeight,
  maxJsonDepth,
  maxJsonValues,
  parseJson,
} from './json.ts';

/** Any JSON value, awkward texts and names included. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '__proto__',
    'a\0b',
    '\ud800',
    '\udc00x',
    '\ud83d\ude00',
    'toJSON',
    'constructor',
  ),
  fc
    .array(fc.constantFrom('\ud83d', '\ude00', '\\', 'u', '0', 'd', '8', '"', '\0', 'é'))
    .map((units) => units.join('')),
);
/**
 * Names of members: not a lone backslash. V8 13.6 reads an escaped name of one unit ("\\n") as the
 * backslash that it begins with, if an earlier object had that member in the same place.
 */
const anyName = anyText.filter((text) => text !== '\\');
const anyJson = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    anyText,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.array(fc.tuple(anyName, tie('value'))).map(Object.fromEntries),
  ),
})).value;

/** The same value with its members in another order. */
function shuffled(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shuffled);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member)]),
  );
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}

/** Texts and member names, all of them. */
function textsOf(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => [key, ...textsOf(member)]);
}

function assertStorable(value: JsonValue): void {
  for (const text of textsOf(value)) {
    assert.ok(text.isWellFormed(), 'a lone surrogate');
    assert.ok(!text.includes('\0'), 'a NUL');
  }
  assert.ok(!/"__proto__":/.test(canonicalJson(value)), 'a member __proto__');
}

test('S-9 equal values are equal texts, whatever the order of insertion', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      assert.equal(canonicalJson(shuffled(value)), canonicalJson(value));
    }),
  );
});

test('S-9 a copy is what its text would be read as', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const read: unknown = JSON.parse(canonicalJson(value));
      assert.equal(JSON.stringify(canonicalCopy(value)), JSON.stringify(read));
    }),
  );
  const odd = { b: undefined, a: [undefined, Number.NaN, -0, () => 1], c: new Date(0) };
  assert.deepEqual(canonicalCopy<unknown>(odd), JSON.parse(canonicalJson(odd)));
  const named = JSON.parse('{"__proto__": {"a": 1}}');
  assert.equal(JSON.stringify(canonicalCopy(named)), '{"__proto__":{"a":1}}');
  assert.throws(() => canonicalCopy({ a: 1n }), TypeError);
});

test('S-9 the text is JSON and means the value; values that differ have texts that differ', () => {
  fc.assert(
    fc.property(anyJson, anyJson, (value, other) => {
      const text = canonicalJson(value);
      assert.equal(canonicalJson(JSON.parse(text)), text);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      const areEqual =
        JSON.stringify(shuffledTwice(value)) === JSON.stringify(shuffledTwice(other));
      if (areEqual) assert.equal(canonicalJson(other), text);
    }),
  );
  assert.notEqual(canonicalJson({ a: 1 }), canonicalJson({ a: '1' }));
  assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]));
});

function shuffledTwice(value: JsonValue): JsonValue {
  return shuffled(shuffled(value));
}

test('S-9 the canonical text has sorted keys, no spaces and no members without a value', () => {
  assert.equal(
    canonicalJson({ b: [1, { z: null, y: 'ü' }], a: undefined, A: 1e21, c: { toJSON: () => 'x' } }),
    '{"A":1e+21,"b":[1,{"y":"ü","z":null}],"c":"x"}',
  );
  assert.equal(canonicalJson(undefined), 'null');
  assert.equal(canonicalJson([undefined, () => 1, Number.NaN, -0]), '[null,null,null,0]');
  assert.throws(() => canonicalJson({ big: 1n }), TypeError);
});

test('B-086 what is parsed is storable, however it is spelt', () => {
  const escaped = (text: string) =>
    text.replace(/[^"\\[\]{}:,]/g, (unit) =>
      unit === ' ' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  fc.assert(
    fc.property(anyJson, fc.boolean(), (value, isEscaped) => {
      const text = JSON.stringify(value);
      const isPlain = /^"[^\\]*"$/.test(text);
      const parsed = parseJson(isEscaped && isPlain ? `"${escaped(text.slice(1, -1))}"` : text);
      assert.ok(parsed.ok);
      assertStorable(parsed.value);
      assert.deepEqual(parsed.value, cleanJson(JSON.parse(text)));
    }),
  );
});

const spellings: readonly [text: string, expected: JsonValue][] = [
  ['"a\\u0000b"', 'a\ufffdb'],
  ['{"a\\u0000":1}', { 'a\ufffd': 1 }],
  ['"\\ud800"', '\ufffd'],
  ['"\\udc00"', '\ufffd'],
  ['"\\ude00\\ud83d"', '\ufffd\ufffd'],
  ['"\\ud83d\\ude00"', '\ud83d\ude00'],
  ['"\ud83d\ude00"', '\ud83d\ude00'],
  ['"\ud83d"', '\ufffd'],
  ['"\ud83d\\ude00"', '\ud83d\ude00'],
  // An escaped backslash before what looks like the first half of a pair.
  ['"\\\\ud83d\\ude00"', '\\ud83d\ufffd'],
  ['{"__proto__":{"admin":true},"a":1}', { a: 1 }],
  ['{"\\u005f_proto__":{"admin":true},"a":1}', { a: 1 }],
  ['[{"_\\u005Fproto_\\u005f":1}]', [{}]],
  ['"__proto__"', '__proto__'],
  ['9007199254740993', 9_007_199_254_740_992],
  ['1e999', null],
  ['[1E+400]', [null]],
  ['{"a":-1e0999}', { a: null }],
  ['{"a": 12.5e999}', { a: null }],
  ['1e99', 1e99],
  ['1e-999', 0],
];

for (const [text, expected] of spellings) {
  test(`B-086 ${text.toWellFormed()} is parsed to a value that every store can keep`, () => {
    const parsed = parseJson(text);
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.value, expected);
    assert.equal(({} as { admin?: boolean }).admin, undefined);
  });
}

test('B-086 a number of hundreds of digits is none, with and without an exponent', () => {
  for (const text of ['9'.repeat(400), `-${'9'.repeat(400)}`, `1${'0'.repeat(295)}e20`]) {
    assert.deepEqual(parseJson(`[ ${text}]`), { ok: true, value: [null] });
  }
});

test('B-086 text nested too deep is refused before it is parsed', () => {
  assert.equal(parseJson(nested(maxJsonDepth)).ok, true);
  assert.deepEqual(parseJson(nested(maxJsonDepth + 1)), { ok: false, problem: 'depth' });
  assert.deepEqual(parseJson('['.repeat(10_000)), { ok: false, problem: 'depth' });
  assert.deepEqual(parseJson('{"a":'.repeat(65)), { ok: false, problem: 'depth' });
  assert.equal(parseJson(JSON.stringify(`${'['.repeat(999)}\\"`)).ok, true, 'brackets in a text');
});

test('text with too many values is refused before it is parsed', () => {
  const list = (values: number): string => `[${'0,'.repeat(values - 1)}0]`;
  assert.equal(parseJson(list(maxJsonValues)).ok, true);
  assert.deepEqual(parseJson(list(maxJsonValues + 1)), { ok: false, problem: 'size' });
  const objects = `[${'{},'.repeat(maxJsonValues / 2)}{}]`;
  assert.deepEqual(parseJson(objects), { ok: false, problem: 'size' });
  assert.equal(parseJson(JSON.stringify('[,'.repeat(maxJsonValues))).ok, true, 'in a text');
});

test('a value weighs its characters and its values, and counting stops at the limit', () => {
  for (const [value, weight] of [
    [null, 8],
    [12.5, 8],
    ['four', 12],
    [[], 8],
    [[1, 'x', [true]], 41],
    [{ ab: 'cd', e: {} }, 29],
  ] as const) {
    assert.equal(jsonWeight(value, 100), weight, JSON.stringify(value));
  }
  const cycle: unknown[] = [];
  for (let index = 0; index < 1_000; index += 1) cycle.push(cycle, { cycle });
  let shared: unknown = 'x';
  for (let level = 0; level < 64; level += 1) shared = [shared, shared];
  for (const endless of [cycle, shared, new Array(1e9)]) {
    assert.ok(jsonWeight(endless, 100_000) > 100_000);
  }
});

test('text that is no JSON is refused', () => {
  for (const text of ['', '{', '{a:1}', "'a'", 'undefined', 'NaN', '[1,]', '"\0"']) {
    assert.deepEqual(parseJson(text), { ok: false, problem: 'syntax' }, text);
  }
});

test('B-086 cleaning gives what every store can keep, twice the same, as deep as it may be', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const cleaned = cleanJson(value);
      assert.ok(cleaned !== undefined);
      assertStorable(cleaned);
      assert.deepEqual(cleanJson(cleaned), cleaned);
    }),
  );
  assert.notEqual(cleanJson(JSON.parse(nested(maxJsonDepth))), undefined);
  assert.equal(cleanJson(JSON.parse(nested(maxJsonDepth + 1))), undefined);
});

test('B-086 what JSON has no word for is dropped, replaced or refused by one rule', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const value of [undefined, () => 1, 1n, Symbol('s'), cycle, [1n], { f: () => 1 }]) {
    assert.equal(cleanJson(value), undefined);
  }
  assert.deepEqual(cleanJson({ a: undefined, b: Number.NaN, c: Number.POSITIVE_INFINITY }), {
    b: null,
    c: null,
  });
  assert.deepEqual(cleanJson([undefined, 1]), [null, 1]);
  assert.equal(cleanJson(new Date(0)), '1970-01-01T00:00:00.000Z');
  assert.equal(cleanText('a\0\ud800b'), 'a\ufffd\ufffdb');
});

test('a cleaned value is a copy', () => {
  const value = { list: [1] };
  const cleaned = cleanJson(value) as typeof value;
  value.list.push(2);
  assert.deepEqual(cleaned, { list: [1] });
});

test('a frozen value can be changed nowhere', () => {
  const value = frozenJson({ list: [{ n: 1 }], empty: {} });
  assert.throws(() => value.list.push({ n: 2 }), TypeError);
  assert.throws(() => Object.assign(value.list[0] ?? {}, { n: 2 }), TypeError);
  assert.throws(() => Object.assign(value.empty, { n: 2 }), TypeError);
  assert.deepEqual(value, { list: [{ n: 1 }], empty: {} });
  assert.equal(frozenJson(7), 7);
});
