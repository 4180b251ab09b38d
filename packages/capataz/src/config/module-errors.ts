import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CapatazError } from '../protocol/errors.ts';

interface Place {
  readonly file: string;
  readonly line: number;
}

/** Frames in here are ours, not the author's. */
const ownFolder = fileURLToPath(new URL('../..', import.meta.url));

const longestLine = 160;
const checkLimitMs = 10_000;

/** Why a module does not load, and in a second line where, with the line of the source. */
export function moduleProblem(path: string, error: unknown): string {
  if (!(error instanceof Error)) return `${path}: threw ${String(error)}`;
  if (error instanceof CapatazError) return `${path}: ${error.message}`;
  const stack = error.stack ?? '';
  const commonJs = commonJsFile(error.message, stack);
  if (commonJs !== null) return `${path}: ${commonJsProblem(commonJs, path)}`;
  const place = placeInHead(stack) ?? placeInFrames(stack) ?? placeByCheck(path, error);
  return `${path}: ${error.message}${place === null ? '' : `\n  at ${placeText(place)}`}`;
}

/** @returns the file that Node read as CommonJS although it has imports or exports. */
function commonJsFile(message: string, stack: string): string | null {
  const isTelling = /^Cannot use import statement outside|^Unexpected token 'export'/.test(message);
  // The loader of CommonJS names a path at the head of the stack, that of ES modules a URL.
  const file = stack.match(/^(.+):\d+\n/)?.[1];
  return isTelling && file !== undefined && isAbsolute(file) ? file : null;
}

function commonJsProblem(file: string, path: string): string {
  const ending = extname(file);
  const other = ending.endsWith('ts') ? '.mts' : '.mjs';
  const remedies = [`name the file ${other}`];
  const manifest = /^\.c/.test(ending) ? null : nearestManifest(dirname(file));
  if (manifest !== null) remedies.unshift(`set "type": "module" in ${manifest}`);
  const subject = file === path ? '' : `${file} `;
  return `${subject}is loaded as CommonJS, which has no import and export: ${remedies.join(', or ')}`;
}

function nearestManifest(folder: string): string | null {
  const manifest = join(folder, 'package.json');
  if (existsSync(manifest)) return manifest;
  const parent = dirname(folder);
  return parent === folder ? null : nearestManifest(parent);
}

/** A syntax error has its place above its name. */
function placeInHead(text: string): Place | null {
  return placeOf(text.match(/^(\S.*):(\d+)\n/));
}

/** The innermost frame that is neither ours nor a dependency's. */
function placeInFrames(stack: string): Place | null {
  for (const frame of stack.split('\n').filter((line) => /^\s+at /.test(line))) {
    const place = placeOf(frame.match(/(file:\/\/[^()]+|(?<=[\s(])(?:\/|\w:\\)[^()]+):(\d+):\d+/));
    if (place === null || place.file.startsWith(ownFolder)) continue;
    if (!/[\\/]node_modules[\\/]/.test(place.file)) return place;
  }
  return null;
}

/** Node keeps the place of a syntax error in plain JavaScript to itself, but its checker tells. */
function placeByCheck(path: string, error: Error): Place | null {
  if (!(error instanceof SyntaxError)) return null;
  const options = { encoding: 'utf8', timeout: checkLimitMs } as const;
  return placeInHead(spawnSync(process.execPath, ['--check', path], options).stderr);
}

function placeOf(match: RegExpMatchArray | null): Place | null {
  const [, where, line] = match ?? [];
  if (where === undefined) return null;
  const file = where.startsWith('file:') ? fileURLToPath(where) : where;
  return isAbsolute(file) && existsSync(file) ? { file, line: Number(line) } : null;
}

function placeText({ file, line }: Place): string {
  const source = readFileSync(file, 'utf8').split('\n')[line - 1]?.trim() ?? '';
  return `${file}:${line}: ${source.slice(0, longestLine)}`;
}
