import { readFileSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Attachment, Tier } from '../models/contract.ts';
import { checkProblems, type OutputCheck } from '../output/check.ts';
import type { CheckCommand } from '../output/command.ts';
import { type Keyword, keyword, type RoutingRules } from './route.ts';
import { invalidSkills, readSkillsFile, type SkillsFile } from './skills-file.ts';

/** How jobs of a skill are put to the model, and what their answers must be. */
export interface Skill {
  readonly instructions: string | null;
  readonly maxTokens: number;
  readonly attachments: readonly Attachment[];
  /** A retry tells the model why its last answer was refused. */
  readonly tellsRefusals: boolean;
  readonly check: OutputCheck;
  readonly command: CheckCommand | null;
}

export interface SkillBook {
  readonly skills: ReadonlyMap<string, Skill>;
  readonly routing: RoutingRules;
}

type Entry = SkillsFile['skills'][string];
type Problem = (where: string, message: string) => void;

const shippedFile = fileURLToPath(new URL('./skills.toml', import.meta.url));
const defaultMaxTokens = 4_096;
const defaultCommandTimeoutMs = 60_000;

const mediaTypes: Readonly<Record<string, string>> = {
  '.json': 'application/json',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

/**
 * What is shipped, with a file of the user's laid over it.
 * @throws CapatazError CONFIG_INVALID that lists everything that is wrong with file, entry and field
 */
export function loadSkills(ownFile: string | null, defaultTier: Tier): SkillBook {
  const files = [shippedFile, ...(ownFile === null ? [] : [ownFile])];
  const merged = files.map((file) => placed(readSkillsFile(file), file)).reduce(mergeFiles);
  const place = ownFile ?? shippedFile;
  const problems: string[] = [];
  const problem: Problem = (where, message) => problems.push(`${place}: ${where}: ${message}`);
  const skills = new Map(
    Object.entries(merged.skills).map(([name, entry]) => [
      name,
      skillOf(entry, (field, message) => problem(`skills.${name}.${field}`, message)),
    ]),
  );
  const { default_skill: defaultSkill = '' } = merged;
  if (!skills.has(defaultSkill)) problem('default_skill', `"${defaultSkill}" is no skill`);
  if (problems.length > 0) throw invalidSkills(problems);
  return { skills, routing: routingOf(merged, defaultSkill, defaultTier) };
}

/** Paths start where the file lies that names them. */
function placed(content: SkillsFile, file: string): SkillsFile {
  const folder = dirname(file);
  const skills = Object.entries(content.skills).map(([name, entry]): [string, Entry] => [
    name,
    {
      ...entry,
      ...(entry.attachments === undefined
        ? {}
        : { attachments: entry.attachments.map((path) => resolve(folder, path)) }),
      ...(entry.check?.schema === undefined
        ? {}
        : { check: { ...entry.check, schema: resolve(folder, entry.check.schema) } }),
    },
  ]);
  return { ...content, skills: Object.fromEntries(skills) };
}

function mergeFiles(below: SkillsFile, above: SkillsFile): SkillsFile {
  const { default_skill = below.default_skill } = above;
  const skills = { ...below.skills };
  for (const [name, entry] of Object.entries(above.skills)) {
    skills[name] = { ...skills[name], ...entry };
  }
  return {
    ...(default_skill === undefined ? {} : { default_skill }),
    skills,
    tiers: {
      ...below.tiers,
      ...above.tiers,
      simple: { ...below.tiers.simple, ...above.tiers.simple },
      complex: { ...below.tiers.complex, ...above.tiers.complex },
    },
  };
}

function skillOf(entry: Entry, problem: Problem): Skill {
  const { check = {} } = entry;
  const own: OutputCheck = {
    ...(check.pattern === undefined ? {} : { pattern: check.pattern }),
    ...(check.schema === undefined ? {} : schemaIn(check.schema, problem)),
  };
  for (const message of checkProblems(own)) problem('check', message);
  return {
    instructions: entry.instructions ?? null,
    maxTokens: entry.max_tokens ?? defaultMaxTokens,
    attachments: (entry.attachments ?? []).flatMap((path, index) =>
      attachmentAt(path, (message) => problem(`attachments.${index}`, message)),
    ),
    tellsRefusals: entry.tell_refusals ?? true,
    check: own,
    command:
      check.command === undefined
        ? null
        : {
            words: [...check.command],
            timeoutMs: check.command_timeout_ms ?? defaultCommandTimeoutMs,
          },
  };
}

function schemaIn(path: string, problem: Problem): Pick<OutputCheck, 'schema'> {
  try {
    const schema = z.record(z.string(), z.json()).parse(JSON.parse(readFileSync(path, 'utf8')));
    return { schema };
  } catch (error) {
    problem('check.schema', `${path} is no JSON schema: ${String(error).split('\n')[0]}`);
    return {};
  }
}

function attachmentAt(path: string, problem: (message: string) => void): Attachment[] {
  try {
    const mediaType = mediaTypes[extname(path).toLowerCase()] ?? 'text/plain';
    return [{ name: path.split('/').at(-1) ?? path, mediaType, content: readFileSync(path) }];
  } catch (error) {
    problem(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return [];
  }
}

function routingOf(
  { skills, tiers }: SkillsFile,
  defaultSkill: string,
  defaultTier: Tier,
): RoutingRules {
  const { simple, complex, least = 0 } = tiers;
  return {
    skills: new Map(
      Object.entries(skills).map(([name, { words = {} }]) => [name, keywordsOf(words)]),
    ),
    defaultSkill,
    least,
    simple: {
      keywords: keywordsOf(simple.words ?? {}),
      shorterThan: simple.shorter_than ?? { characters: 0, weight: 0 },
    },
    complex: {
      keywords: keywordsOf(complex.words ?? {}),
      longerThan: complex.longer_than ?? { characters: 0, weight: 0 },
      moreWordsThan: complex.more_words_than ?? { words: 0, weight: 0 },
    },
    defaultTier,
  };
}

function keywordsOf(words: Readonly<Record<string, number>>): Keyword[] {
  return Object.entries(words).map(([spellings, weight]) => keyword(spellings, weight));
}
