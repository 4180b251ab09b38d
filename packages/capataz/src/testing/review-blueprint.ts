import { finish } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import { approval } from '../core/wait-actions.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../std/json.ts';

/**
 * Asks a person about `input.plan`, if there is one, else just with a message. `input.revision` names
 * the plan. It is asked anew when it hears `revised`, and ends on `withdrawn`.
 */
export const reviewBlueprint: Blueprint = blueprint({
  name: 'review',
  version: 1,
  states: {
    ask: {
      start: true,
      to: ['ask', 'done', 'refused'],
      handle: (job) => {
        const { plan, revision } = fieldsOf(job.input);
        return approval({
          message: 'Shall we <b>go</b>?',
          ...(plan === undefined ? {} : { show: plan }),
          ...(typeof revision === 'string' ? { revision } : {}),
          on: { approved: 'done', rejected: 'refused', timeout: 'refused' },
          signals: { revised: 'ask', withdrawn: 'refused' },
          escalateAfter: '1h',
          deadline: '2h',
        });
      },
    },
    done: { end: true, handle: (job) => finish(answerOf(job.answer)) },
    refused: { end: 'failed' },
  },
});

function answerOf(answer: { readonly name: string; readonly data: JsonValue } | null): JsonValue {
  return answer === null ? null : { name: answer.name, data: answer.data };
}

function fieldsOf(input: JsonValue): JsonObject {
  return isJsonObject(input) ? input : {};
}
