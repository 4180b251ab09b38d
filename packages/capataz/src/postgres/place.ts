export interface Place {
  /** As the driver takes it. */
  readonly url: string;
  /** Where the tables lie. */
  readonly schema: string;
}

/**
 * `postgres://user:password@host:port/database?schema=name`. It holds a password, so that no part of it
 * but the schema is repeated in the problem, which goes on behind "the URL".
 */
export function readPlace(
  text: string,
  defaultSchema: string,
): Place | { readonly problem: string } {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol !== 'postgres:' && protocol !== 'postgresql:')
    return { problem: 'has to begin with postgres://' };
  const url = new URL(text);
  const schema = url.searchParams.get('schema') ?? defaultSchema;
  // It is put into statements, and into a parameter that knows no quotes.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    return {
      problem: `names "${schema}", which is no name of a schema: small letters, digits and _`,
    };
  url.searchParams.delete('schema');
  return { url: url.href, schema };
}
