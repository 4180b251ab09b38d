import assert from 'node:assert/strict';
import { lineAt, type SourceFile } from './sources.ts';

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  /** What to write instead. */
  readonly replacement: string;
}

export function assertNone(violations: readonly Violation[]): void {
  const lines = violations.map(
    ({ path, line, rule, replacement }) => `${path}:${line}: ${rule}; instead: ${replacement}`,
  );
  assert.ok(violations.length === 0, `\n${lines.join('\n')}`);
}

export interface Ban {
  readonly pattern: RegExp;
  readonly rule: string;
  readonly replacement: string;
}

export function findBanned(source: SourceFile, bans: readonly Ban[]): Violation[] {
  return bans.flatMap(({ pattern, rule, replacement }) =>
    [...source.code.matchAll(new RegExp(pattern, 'g'))].map((match) => ({
      path: source.path,
      line: lineAt(source.code, match.index),
      rule,
      replacement,
    })),
  );
}
