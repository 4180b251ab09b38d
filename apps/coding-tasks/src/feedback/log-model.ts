import type { FeedbackModel } from '../task/feedback.ts';
import { failingTests } from './failing-tests.ts';

const maxTailChars = 6_000;
const maxFeedbackChars = 24_000;

/**
 * The feedback model that needs no model: it finds the failing tests and their messages in the log,
 * and hands on the end of a log in which it finds none.
 */
export const logModel: FeedbackModel = {
  correct: async ({ log, round }) => ({
    text: feedbackFrom(log, round),
    usage: { costeUsd: 0, tokensEntrada: 0, tokensSalida: 0 },
  }),
};

export function feedbackFrom(log: string, round: number): string {
  const tests = failingTests(log);
  if (tests.length === 0) {
    const tail = log.trim().slice(-maxTailChars) || '(the log is empty)';
    return `The integration tests failed in round ${round}. The end of their log:\n\n${fenced(tail)}\n`;
  }
  const count = tests.length === 1 ? 'One test fails' : `${tests.length} tests fail`;
  const list = tests.map(
    ({ name, detail }) => `## ${name}\n${detail === '' ? '' : `\n${fenced(detail)}\n`}`,
  );
  const text = `${count} in round ${round}. Mend the change, not the tests.\n\n${list.join('\n')}`;
  return text.length <= maxFeedbackChars ? text : `${text.slice(0, maxFeedbackChars)}\n…\n`;
}

/** In a fence that is longer than any within. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
