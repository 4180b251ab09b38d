import { readFileSync } from 'node:fs';
import { CapatazError } from 'capataz';
import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';

const weight = z.number().nonnegative();
const words = z.record(
  z
    .string()
    .regex(/^[^*|]+\*?(?:\|[^*|]+\*?)*$/, 'must be words, each with at most one `*` at its end'),
  weight,
);

const check = z.strictObject({
  schema: z.string().optional(),
  pattern: z.string().optional(),
  command: z.tuple([z.string().min(1)], z.string()).optional(),
  command_timeout_ms: z.int().positive().max(600_000).optional(),
});

const skill = z.strictObject({
  words: words.optional(),
  instructions: z.string().optional(),
  max_tokens: z.int().positive().optional(),
  attachments: z.array(z.string()).optional(),
  tell_refusals: z.boolean().optional(),
  check: check.optional(),
});

const side = { words: words.optional() };
const bound = z.int().nonnegative();

const skillsFile = z.strictObject({
  default_skill: z.string().optional(),
  skills: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), skill).default({}),
  tiers: z
    .strictObject({
      least: weight.optional(),
      simple: z
        .strictObject({
          ...side,
          shorter_than: z.strictObject({ characters: bound, weight }).optional(),
        })
        .default({}),
      complex: z
        .strictObject({
          ...side,
          longer_than: z.strictObject({ characters: bound, weight }).optional(),
          more_words_than: z.strictObject({ words: bound, weight }).optional(),
        })
        .default({}),
    })
    .default({ simple: {}, complex: {} }),
});
export type SkillsFile = z.infer<typeof skillsFile>;

/** @throws CapatazError CONFIG_INVALID that lists everything that is wrong with file, entry and field */
export function readSkillsFile(file: string): SkillsFile {
  const parsed = skillsFile.safeParse(readToml(file));
  if (parsed.success) return parsed.data;
  throw invalidSkills(
    parsed.error.issues.map(({ path, message }) =>
      [file, ...(path.length === 0 ? [] : [path.join('.')]), message].join(': '),
    ),
  );
}

export function invalidSkills(problems: readonly string[]): CapatazError {
  return new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems: [...problems] });
}

function readToml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof TomlError) {
      throw invalidSkills([
        `${file}:${error.line}:${error.column}: ${error.message.split('\n')[0]}`,
      ]);
    }
    throw invalidSkills([`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
}
