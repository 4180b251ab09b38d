import { CapatazError } from 'capataz';
import type { SettingDeclarations, SettingValues } from 'capataz/server';
import type { FeedbackModel } from '../task/feedback.ts';
import { createLanguageModel } from './language-model.ts';
import { logModel } from './log-model.ts';

export const feedbackSettings = {
  feedback: {
    type: 'choice',
    choices: ['log', 'anthropic', 'openai-compatible'],
    default: 'log',
    meaning: 'Who turns failed tests into instructions: rules that read the log, or a model.',
  },
  feedbackModel: { type: 'string', default: null, meaning: 'The name of the model.' },
  feedbackUrl: {
    type: 'url',
    isBase: true,
    default: null,
    meaning: 'Where the model is. Default for anthropic: Anthropic’s own.',
  },
  feedbackKey: { type: 'string', default: null, secret: true, meaning: 'The key to the model.' },
  feedbackMaxTokens: {
    type: 'integer',
    default: 4_000,
    range: [1, 1_000_000],
    meaning: 'Most tokens of one correction; a longer one is cut off.',
  },
  feedbackInputPrice: {
    type: 'number',
    default: null,
    range: [0, 100_000],
    meaning:
      'US dollars for a million tokens that the model reads. Without it what corrections cost is not known, and does not count towards `cost_limit_usd`.',
  },
  feedbackOutputPrice: {
    type: 'number',
    default: null,
    range: [0, 100_000],
    meaning: 'US dollars for a million tokens that the model writes; goes with the other price.',
  },
} as const satisfies SettingDeclarations;

/** @throws CapatazError CONFIG_INVALID */
export function configuredFeedback(values: SettingValues<typeof feedbackSettings>): FeedbackModel {
  const { feedback: api, feedbackModel: model, feedbackKey: apiKey, feedbackUrl } = values;
  if (api === 'log') return logModel;
  if (model === null) throw new CapatazError('CONFIG_INVALID', 'feedback_model: is missing');
  if (api === 'openai-compatible' && feedbackUrl === null)
    throw new CapatazError('CONFIG_INVALID', 'feedback_url: is missing');
  return createLanguageModel({
    ...{ api, model, apiKey: apiKey ?? '', maxOutputTokens: values.feedbackMaxTokens },
    ...(feedbackUrl === null ? {} : { baseUrl: feedbackUrl }),
    ...priceOf(values),
  });
}

function priceOf({
  feedbackInputPrice: input,
  feedbackOutputPrice: output,
}: SettingValues<typeof feedbackSettings>) {
  if (input === null && output === null) return {};
  if (input !== null && output !== null) return { price: { input, output } };
  const missing = input === null ? 'feedback_input_price' : 'feedback_output_price';
  throw new CapatazError('CONFIG_INVALID', `${missing}: is missing; the other price is given`);
}
