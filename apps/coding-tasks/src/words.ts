import stringArgv from 'string-argv';

/** Program and arguments as a person writes them: blanks between, quotes around what has some. */
export function wordsOf(text: string): string[] {
  return stringArgv(text);
}

/** Texts with commas between. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
