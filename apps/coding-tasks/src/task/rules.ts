import { CapatazError } from 'capataz';
import type { SettingDeclarations, SettingValues } from 'capataz/server';
import { listOf } from '../words.ts';

/** The states in which somebody is at work, and may be asked whether he still is. */
export const delegatedStates = [
  'PLANIFICANDO',
  'EJECUTANDO_CODIGO',
  'PROBANDO_INTEGRACION',
] as const;
export type DelegatedState = (typeof delegatedStates)[number];

/** The settings of the orchestrator. */
export const taskSettings = {
  silence: {
    type: 'duration',
    default: '5m',
    meaning:
      'After so long without any sign of life from whoever works on a task, it ends in FALLIDA_INFRAESTRUCTURA.',
  },
  poll: {
    type: 'duration',
    default: '2m',
    meaning:
      'How often whoever works on a task is asked for its state. It must be shorter than the silence, else every long task would be given up.',
  },
  polledStates: {
    type: 'string',
    default: 'PLANIFICANDO,EJECUTANDO_CODIGO,PROBANDO_INTEGRACION',
    meaning:
      'The states in which is asked, with commas between; EJECUTANDO_CODIGO (with its sub-state) must be among them.',
  },
  feedbackRounds: {
    type: 'integer',
    default: 3,
    range: [0, 1_000],
    meaning:
      'How many corrections a task gets. When the tests fail once more, it ends in FALLIDA_LOGICA.',
  },
  feedbackTimeout: {
    type: 'duration',
    default: '60s',
    meaning: 'Longest time for one call of the feedback model.',
  },
  feedbackRetries: {
    type: 'integer',
    default: 2,
    range: [0, 100],
    meaning: 'How often a call of the feedback model that failed is tried again.',
  },
  approvalLimit: {
    type: 'duration',
    default: 'off',
    canBeOff: true,
    meaning: 'How long a plan may wait for its approval; then the task ends in FALLIDA_LOGICA.',
  },
  stateLimit: {
    type: 'duration',
    default: 'off',
    canBeOff: true,
    meaning:
      'Longest stay in a state in which somebody works, however many signs of life there are; then the task ends in FALLIDA_INFRAESTRUCTURA.',
  },
  costLimitUsd: {
    type: 'number',
    default: 0,
    range: [0, 1_000_000],
    meaning:
      'What all agent runs and feedback calls of a task may cost in US dollars, by what they report; then it ends in FALLIDA_LOGICA. 0: no limit.',
  },
  reviewers: {
    type: 'string',
    default: null,
    meaning: 'Users who may see, approve and reject the plans of everybody, with commas between.',
  },
} as const satisfies SettingDeclarations;

/** The settings as the blueprint uses them. Durations are ms, 0 is off. */
export interface TaskRules {
  readonly silenceMs: number;
  readonly pollMs: number;
  readonly polled: readonly DelegatedState[];
  readonly feedbackRounds: number;
  readonly feedbackTimeoutMs: number;
  readonly feedbackRetries: number;
  readonly approvalLimitMs: number;
  readonly stateLimitMs: number;
  readonly costLimitUsd: number;
  readonly reviewers: readonly string[];
}

/** @throws CapatazError CONFIG_INVALID with everything that is wrong */
export function taskRules(settings: SettingValues<typeof taskSettings>): TaskRules {
  const { silence, poll, feedbackTimeout, ...rest } = settings;
  const polled = listOf(settings.polledStates);
  const unknown = polled.filter((name) => !isDelegated(name));
  const problems = [
    ...(silence > 0 ? [] : ['silence: must be longer than 0']),
    ...(poll > 0 ? [] : ['poll: must be longer than 0']),
    ...(feedbackTimeout > 0 ? [] : ['feedback_timeout: must be longer than 0']),
    ...(poll < silence
      ? []
      : [`poll: ${poll} ms is not shorter than the silence of ${silence} ms`]),
    ...unknown.map((name) => `polled_states: "${name}" is none of ${delegatedStates.join(', ')}`),
    ...(polled.includes('EJECUTANDO_CODIGO')
      ? []
      : ['polled_states: EJECUTANDO_CODIGO is missing']),
  ];
  if (problems.length > 0)
    throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems });
  return {
    silenceMs: silence,
    pollMs: poll,
    polled: polled.filter(isDelegated),
    feedbackRounds: rest.feedbackRounds,
    feedbackTimeoutMs: feedbackTimeout,
    feedbackRetries: rest.feedbackRetries,
    approvalLimitMs: rest.approvalLimit,
    stateLimitMs: rest.stateLimit,
    costLimitUsd: rest.costLimitUsd,
    reviewers: listOf(rest.reviewers ?? ''),
  };
}

function isDelegated(name: string): name is DelegatedState {
  return delegatedStates.some((state) => state === name);
}
