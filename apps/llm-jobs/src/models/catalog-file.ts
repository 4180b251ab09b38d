import { readFileSync } from 'node:fs';
import { CapatazError } from 'capataz';
import { parse, TomlDate, TomlError } from 'smol-toml';
import { z } from 'zod';
import { tiers } from './contract.ts';
import { nanoUsd, picoUsdPerToken } from './money.ts';

/** An amount of USD, turned into whole units by one of the readers of money. */
function amount(read: (usd: string | number) => number) {
  return z.union([z.number(), z.string()]).transform((value, context) => {
    try {
      return read(value);
    } catch (error) {
      context.issues.push({ code: 'custom', message: (error as Error).message, input: value });
      return z.NEVER;
    }
  });
}

const provider = z.strictObject({
  api: z.enum(['anthropic', 'openai-compatible']).optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  key: z.string().min(1).optional(),
});

const tier = z.strictObject({
  model: z.string().optional(),
  cost_usd: amount(nanoUsd).optional(),
  fallback: z.array(z.string()).optional(),
});

const perToken = amount(picoUsdPerToken).optional();
const price = z.strictObject({
  input: perToken,
  output: perToken,
  cache_read: perToken,
  cache_write: perToken,
});

const day = z
  .instanceof(TomlDate, { message: 'must be a date, as 2026-11-28' })
  .refine((value) => value.isDate(), 'must be a date without a time')
  .transform((value) => value.toISOString());

const catalogFile = z
  .strictObject({
    date: day.optional(),
    fallback_on: z.array(z.enum(['system', 'business', 'permanent'])).optional(),
    providers: z.record(z.string().regex(/^[\w-]+$/), provider).default({}),
    tiers: z.partialRecord(z.enum(tiers), tier).default({}),
    prices: z.record(z.string(), price).default({}),
  })
  .refine(({ date, prices }) => date !== undefined || Object.keys(prices).length === 0, {
    path: ['date'],
    message: 'must say on which day the prices were looked up',
  });

export type CatalogFile = z.infer<typeof catalogFile>;

/** @throws CapatazError CONFIG_INVALID that lists everything that is wrong with file and field */
export function parseCatalogFile(text: string, file: string): CatalogFile {
  const parsed = catalogFile.safeParse(readToml(text, file));
  if (parsed.success) return parsed.data;
  throw invalid(
    parsed.error.issues.map(({ path, message }) =>
      [file, ...(path.length === 0 ? [] : [path.join('.')]), message].join(': '),
    ),
  );
}

/** @throws CapatazError CONFIG_INVALID, also where the file can't be read */
export function readCatalogFile(file: string): CatalogFile {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid([`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
  return parseCatalogFile(text, file);
}

export function invalid(problems: readonly string[]): CapatazError {
  return new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems: [...problems] });
}

function readToml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw invalid([`${file}:${error.line}:${error.column}: ${error.message.split('\n')[0]}`]);
  }
}
