import { z } from 'zod';
import type { BotInput, BotValue } from '../control-room/contract.ts';

const botValue: z.ZodType<BotValue> = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('STRING'), string: z.string() }),
    // The Control Room takes numbers as texts, and people write them as numbers.
    z.object({ type: z.literal('NUMBER'), number: z.coerce.string() }),
    z.object({ type: z.literal('BOOLEAN'), boolean: z.boolean() }),
    z.object({ type: z.literal('DATETIME'), string: z.string() }),
    z.object({ type: z.literal('LIST'), list: z.array(botValue) }),
    z.object({
      type: z.literal('DICTIONARY'),
      dictionary: z.array(z.object({ key: z.string(), value: botValue })),
    }),
  ]),
);
const botInput = z.record(z.string().min(1), botValue);

/** @throws SyntaxError, ZodError for what is no bot input */
export function parseBotInput(json: string): BotInput {
  return botInput.parse(JSON.parse(json));
}

export function defaultBotInput(rounds: number): BotInput {
  return { in_NumRepeticion: { type: 'NUMBER', number: String(rounds) } };
}

/**
 * What was given for this execution, else the robot's own parameters, else the repetitions of the
 * settings. Parameters that are none are told, and passed over.
 */
export function botInputFor(
  given: unknown,
  parameters: string | null,
  { rounds, onProblem }: { readonly rounds: number; readonly onProblem: (error: unknown) => void },
): BotInput {
  const texts = [given === null ? null : JSON.stringify(given), parameters];
  for (const text of texts) {
    if (text === null || text.trim() === '') continue;
    try {
      return parseBotInput(text);
    } catch (error) {
      onProblem(error);
    }
  }
  return defaultBotInput(rounds);
}
