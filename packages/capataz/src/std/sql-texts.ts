import { readFileSync } from 'node:fs';

/** Reads statements of a folder, each of which lies in a file of its own whose header names parameters and result. */
export function sqlTexts(folder: URL): (name: string) => string {
  const texts = new Map<string, string>();
  return (name) => {
    const text = texts.get(name) ?? readFileSync(new URL(`${name}.sql`, folder), 'utf8');
    texts.set(name, text);
    return text;
  };
}
