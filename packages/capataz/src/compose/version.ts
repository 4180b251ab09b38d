import { readFileSync } from 'node:fs';

/** Of this package; the file lies at the same distance from the sources and from the compiled files. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version }: { readonly version: string } = JSON.parse(text);
  return version;
}
