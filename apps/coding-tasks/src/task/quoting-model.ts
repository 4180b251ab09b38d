import type { FeedbackModel } from './feedback.ts';

/** What fits a prompt; failures stand at the end of a log. */
const quotedCharacters = 8_000;

/** The feedback model that needs none: it hands the log on to the agent, which can read for itself. */
export const quotingModel: FeedbackModel = {
  correct: async ({ log, round }) => {
    const quoted = log.slice(-quotedCharacters);
    const text = `The integration tests failed in round ${round}. Mend the change so that they pass. Their log:\n\n${quoted}`;
    return { text, usage: { costeUsd: 0, tokensEntrada: 0, tokensSalida: 0 } };
  },
};
