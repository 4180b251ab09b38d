import { existsSync, readFileSync } from 'node:fs';
import { CapatazError } from 'capataz';
import { parse } from 'dotenv';
import type { SettingSource } from './merge.ts';

/**
 * Values of a `.env` file; none if there is no file and nobody named it.
 * @throws CapatazError CONFIG_INVALID
 */
export function readEnvFile(
  path: string,
  { isNamed }: { readonly isNamed: boolean },
): SettingSource {
  if (!existsSync(path)) {
    if (isNamed) throw new CapatazError('CONFIG_INVALID', `${path} does not exist`);
    return { name: path, values: {} };
  }
  try {
    // Notepad begins files with a mark, which would belong to the first name.
    const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
    return { name: path, values: parse(text), problems: strayLines(path, text) };
  } catch (error) {
    throw new CapatazError('CONFIG_INVALID', `${path} cannot be read: ${error}`, {}, error);
  }
}

/** Lines that set nothing, and would be passed over. What follows the first word may be a secret. */
function strayLines(path: string, text: string): string[] {
  // Quoted values may have several lines.
  const short = text.replaceAll(/=\s*(["'`])(?:\\.|(?!\1)[^\\])*\1/g, (value) =>
    '='.concat(value.replaceAll(/[^\n]/g, '')),
  );
  return short.split(/\r?\n/).flatMap((line, index) => {
    if (/^\s*(?:#.*)?$|^\s*(?:export\s+)?[\w.-]+(?:\s*=|:\s)/.test(line)) return [];
    const [word = ''] = line.trim().split(/[\s=]/, 1);
    return [`${path} line ${index + 1}: ${word === '' ? '' : `"${word}…" `}is no NAME=value`];
  });
}
