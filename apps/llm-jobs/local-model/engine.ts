import { writeFileSync } from 'node:fs';
import {
  getLlama,
  LlamaCompletion,
  type LlamaContextSequence,
  LlamaLogLevel,
} from 'node-llama-cpp';
import { tinyModel } from './tiny-model.ts';

export interface Completion {
  readonly text: string;
  readonly finish: 'stop' | 'length';
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What prompt and answer may have together. */
export const contextTokens = 2_048;

export interface CompleteOptions {
  readonly maxTokens: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly onText: (text: string) => void;
}

export interface Engine extends AsyncDisposable {
  countTokens(text: string): number;
  complete(prompt: string, options: CompleteOptions): Promise<Completion>;
}

/** Writes the tiny model to `file` and loads it into llama.cpp, on the processor. */
export async function startEngine(file: string): Promise<Engine> {
  writeFileSync(file, tinyModel());
  // What stands ready in the package is used; nothing is built or fetched.
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createContext({
    sequences: 1,
    contextSize: contextTokens,
    threads: 1,
  });
  const sequence = context.getSequence();
  let turn: Promise<unknown> = Promise.resolve();
  return {
    countTokens: (text) => model.tokenize(text).length,
    complete(prompt, options) {
      // One after the other: it is a small machine's engine.
      const mine = turn.then(() => complete(sequence, prompt, options));
      turn = mine.catch(() => {});
      return mine;
    },
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}

async function complete(
  sequence: LlamaContextSequence,
  prompt: string,
  { maxTokens, seed, signal, onText }: CompleteOptions,
): Promise<Completion> {
  await sequence.clearHistory();
  const before = sequence.tokenMeter.getState();
  const completion = new LlamaCompletion({ contextSequence: sequence });
  try {
    const { response, metadata } = await completion.generateCompletionWithMeta(prompt, {
      maxTokens,
      signal,
      temperature: 1,
      seed,
      onTextChunk: onText,
    });
    const { usedInputTokens, usedOutputTokens } = sequence.tokenMeter.diff(before);
    return {
      text: response,
      finish: metadata.stopReason === 'maxTokens' ? 'length' : 'stop',
      inputTokens: usedInputTokens,
      outputTokens: usedOutputTokens,
    };
  } finally {
    completion.dispose({ disposeSequence: false });
  }
}
