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
    return { name: path, values: parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')) };
  } catch (error) {
    throw new CapatazError('CONFIG_INVALID', `${path} cannot be read: ${error}`, {}, error);
  }
}
