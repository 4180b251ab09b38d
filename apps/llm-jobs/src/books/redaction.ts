import { readFileSync } from 'node:fs';
import { CapatazError } from 'capataz';

/** Takes out of a text what must not stand in records (W-v). */
export type Redact = (text: string) => string;

const redacted = '[redacted]';

/** What secrets look like whoever's they are. */
const known: readonly RegExp[] = [
  /\bsk-[\w-]{16,}/g,
  /\bgh[pousr]_\w{20,}/g,
  /\bxox[abprs]-[\w-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  /(?<=\b(?:password|passwd|secret|token|api[_-]?key)["']?\s*[=:]\s*["']?)[^\s"',;]{4,}/gi,
];

/**
 * What is known, and what a file adds: a regular expression (flags `giu`) a line; `#` begins a remark.
 * @throws CapatazError CONFIG_INVALID with file and line
 */
export function redaction(file: string | null): Redact {
  const patterns = [...known, ...(file === null ? [] : patternsIn(file))];
  return (text) => patterns.reduce((left, pattern) => left.replace(pattern, redacted), text);
}

function patternsIn(file: string): RegExp[] {
  const problems: string[] = [];
  const patterns = readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line.trim() === '' || line.startsWith('#')) return [];
      try {
        return [new RegExp(line, 'giu')];
      } catch (error) {
        problems.push(`${file}:${index + 1}: ${error instanceof Error ? error.message : error}`);
        return [];
      }
    });
  if (problems.length === 0) return patterns;
  throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems });
}
