import { type GgufValue, gguf, type Tensor } from './gguf.ts';

/**
 * A language model small enough to be made on the spot: a llama of one layer whose attention and feed
 * forward network say nothing, so that the last token alone decides about the next one. The weights
 * are not trained but written: what follows a word is what follows it in the sentences below. It
 * knows little, and says it in words, ends its answers, and is computed as every llama is.
 */
const sentences = [
  'The function has a new name and every caller uses it .',
  'The test covers the empty list and the long one .',
  'The error came from a missing value , which is checked now .',
  'The document says what the module does and how to use it .',
  'Every caller of the module has a test now .',
  'A new test covers the error and the missing value .',
];

const specials = ['<unk>', '<s>', '</s>'] as const;
const endToken = specials.indexOf('</s>');
const kinds = { plain: 1, unknown: 2, control: 3, byte: 6 } as const;
const headLength = 32;
const contextLength = 2_048;
const feedForward = 32;
/** The logit of what may follow; all else has 0. At temperature 1, e^12 to one against it. */
const certainty = 12;

const words = [...new Set(sentences.flatMap((sentence) => sentence.split(' ')))];
const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${hex(byte)}>`);
/** A word begins with the tokenizer's mark of a space, a point or comma does not. */
const pieces = words.map((word) => (/\w/.test(word) ? `\u2581${word}` : word));
const vocabulary: readonly string[] = [...specials, ...bytes, ...pieces];
/** One dimension a token, and a whole number of heads. */
const width = Math.ceil(vocabulary.length / headLength) * headLength;

/** The file of the model, about 2 MB; always the same. */
export function tinyModel(): Buffer {
  return gguf(metadata(), tensors());
}

function metadata(): Record<string, GgufValue> {
  const whole = (value: number): GgufValue => ({ type: 'whole', value });
  return {
    'general.architecture': { type: 'text', value: 'llama' },
    'general.name': { type: 'text', value: 'tiny' },
    'llama.context_length': whole(contextLength),
    'llama.embedding_length': whole(width),
    'llama.block_count': whole(1),
    'llama.feed_forward_length': whole(feedForward),
    'llama.attention.head_count': whole(width / headLength),
    'llama.attention.head_count_kv': whole(1),
    'llama.attention.layer_norm_rms_epsilon': { type: 'float', value: 1e-5 },
    'llama.rope.dimension_count': whole(headLength),
    'llama.vocab_size': whole(vocabulary.length),
    'tokenizer.ggml.model': { type: 'text', value: 'llama' },
    'tokenizer.ggml.tokens': { type: 'texts', value: vocabulary },
    'tokenizer.ggml.scores': { type: 'floats', value: vocabulary.map(() => 0) },
    'tokenizer.ggml.token_type': { type: 'wholes', value: vocabulary.map(kindOf) },
    'tokenizer.ggml.unknown_token_id': whole(0),
    'tokenizer.ggml.bos_token_id': whole(1),
    'tokenizer.ggml.eos_token_id': whole(endToken),
  };
}

function tensors(): Tensor[] {
  const silent = (name: string, ...shape: number[]): Tensor => ({
    name: `blk.0.${name}.weight`,
    shape,
    values: new Float32Array(shape.reduce((product, length) => product * length)),
  });
  const ones = (name: string): Tensor => ({
    name: `${name}.weight`,
    shape: [width],
    values: new Float32Array(width).fill(1),
  });
  return [
    { name: 'token_embd.weight', shape: [width, vocabulary.length], values: embedding() },
    { name: 'output.weight', shape: [width, vocabulary.length], values: output() },
    ones('output_norm'),
    ones('blk.0.attn_norm'),
    ones('blk.0.ffn_norm'),
    silent('attn_q', width, width),
    silent('attn_k', width, headLength),
    silent('attn_v', width, headLength),
    silent('attn_output', width, width),
    silent('ffn_gate', width, feedForward),
    silent('ffn_up', width, feedForward),
    silent('ffn_down', feedForward, width),
  ];
}

/** Each token has a dimension of its own. */
function embedding(): Float32Array {
  const values = new Float32Array(width * vocabulary.length);
  vocabulary.forEach((_, token) => {
    values[token * width + token] = 1;
  });
  return values;
}

/** Row: the next token, column: the last one. The norm has made the last one's dimension √width. */
function output(): Float32Array {
  const values = new Float32Array(width * vocabulary.length);
  for (const [last, next] of followers()) {
    values[next * width + last] = certainty / Math.sqrt(width);
  }
  return values;
}

/** Which token may follow which; whatever a prompt ends with, a sentence begins. */
function followers(): (readonly [last: number, next: number])[] {
  const token = (word: string): number => specials.length + bytes.length + words.indexOf(word);
  const pairs: [number, number][] = [];
  for (const sentence of sentences) {
    const [first = 0, ...rest] = sentence.split(' ').map(token);
    for (let prompt = 0; prompt < specials.length + bytes.length; prompt += 1) {
      pairs.push([prompt, first]);
    }
    let last = first;
    for (const next of rest) {
      pairs.push([last, next]);
      last = next;
    }
    pairs.push([last, endToken]);
  }
  return pairs;
}

function kindOf(_: string, token: number): number {
  if (token === 0) return kinds.unknown;
  if (token < specials.length) return kinds.control;
  return token < specials.length + bytes.length ? kinds.byte : kinds.plain;
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}
