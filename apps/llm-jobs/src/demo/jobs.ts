import type { ScriptText } from '../fake-provider/script.ts';
import type { JobInput } from '../job/input.ts';

/** Twenty jobs of all skills and tiers, and what the fake provider does to some of them. */
export const demoJobs: readonly JobInput[] = [
  'Fix the typo in the readme',
  'Rename the variable count to total',
  'Fix the bug that loses the last line of a file',
  'Write tests for the parser of durations',
  'Document the public functions of the client',
  'Implement a cache for the price list',
  'Refactor the settings module into smaller files',
  'Redesign the architecture of the billing system for several tenants and migrate what there is',
  'Add a health check',
  'Debug the crash of the importer',
  'Clean up the error messages',
  'Create a report of the slowest queries',
  'Write a spec for the export',
  'Delete the unused endpoint',
  'Translate the manual',
  'Build a table of contents',
  'Fix the error in the totals of October',
  'Summarise the minutes of the last meeting',
].map((description) => ({ description }));

export const demoChecked: readonly JobInput[] = [
  {
    description: 'Give the open invoices as JSON',
    check: {
      schema: {
        type: 'object',
        required: ['invoices'],
        properties: { invoices: { type: 'array' } },
      },
    },
  },
  { description: 'Say what nobody may say' },
];

const answer = (text: string) => ({ kind: 'answer', text }) as const;

export const demoScript: ScriptText = {
  rules: [
    {
      when: { contains: 'cache for the price list' },
      times: 1,
      do: { kind: 'status', status: 429, retryAfter: 2, message: 'slow down' },
    },
    {
      when: { contains: 'crash of the importer' },
      times: 2,
      do: { kind: 'status', status: 529, message: 'overloaded' },
    },
    {
      when: { contains: 'totals of October' },
      do: { kind: 'status', status: 503, message: 'try again later' },
    },
    { when: { contains: 'slowest queries' }, times: 1, do: { kind: 'cut' } },
    { when: { contains: 'tests for the parser' }, times: 1, do: { kind: 'reset' } },
    { when: { contains: 'Translate the manual' }, times: 1, do: { kind: 'silence' } },
    { when: { contains: 'minutes of the last meeting' }, times: 1, do: answer('') },
    { when: { contains: 'An earlier answer was refused' }, do: answer('{"invoices": [7, 12]}') },
    { when: { contains: 'open invoices as JSON' }, do: answer('There are two: 7 and 12.') },
    { when: { contains: 'what nobody may say' }, do: { kind: 'answer', finish: 'refusal' } },
    { do: { kind: 'answer', delayMs: 300, chunkDelayMs: 40 } },
  ],
};
