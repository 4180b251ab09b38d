import type { Message, ModelCall } from '../models/contract.ts';
import type { Skill } from '../routing/skills.ts';
import type { CallRow, JobRecord } from './record.ts';
import type { JobRules } from './rules.ts';

type Prompt = Pick<ModelCall, 'instructions' | 'messages' | 'maxTokens'>;

const classifyTokens = 256;

export function promptFor(
  purpose: CallRow['purpose'],
  record: JobRecord,
  { skills }: JobRules,
): Prompt {
  if (purpose === 'classify') return classifyPrompt(record.description, [...skills.keys()]);
  const skill = skills.get(record.agent?.skill ?? '');
  if (skill === undefined) throw new Error(`there is no skill "${record.agent?.skill}" any more`);
  return answerPrompt(record, skill);
}

function answerPrompt({ description, refusal }: JobRecord, skill: Skill): Prompt {
  const { instructions, maxTokens, attachments, tellsRefusals } = skill;
  const text =
    refusal === null || !tellsRefusals
      ? description
      : `${description}\n\nAn earlier answer was refused: ${refusal}. Give an answer to which this does not apply.`;
  const message: Message = {
    role: 'user',
    text,
    ...(attachments.length > 0 ? { attachments } : {}),
  };
  return { ...(instructions === null ? {} : { instructions }), messages: [message], maxTokens };
}

function classifyPrompt(description: string, skills: readonly string[]): Prompt {
  return {
    instructions: `You sort work for others. Answer with one JSON object and nothing else: {"skill": ${skills
      .map((skill) => `"${skill}"`)
      .join(' or ')}, "complexity": "simple" or "medium" or "complex"}.`,
    messages: [{ role: 'user', text: description }],
    maxTokens: classifyTokens,
  };
}
