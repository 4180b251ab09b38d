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
  const taken = takenName(schema);
  if (taken !== null) return { problem: `names the schema "${schema}", ${taken}: choose another` };
  if (/^\/?$/.test(url.pathname))
    return { problem: 'names no database: postgres://user:password@host:5432/database' };
  if (url.searchParams.has('options'))
    return { problem: 'has "options", which are set by Capataz: leave them out' };
  url.searchParams.delete('schema');
  return { url: url.href, schema };
}

function takenName(schema: string): string | null {
  if (schema.startsWith('pg_') || schema === 'information_schema')
    return 'which belongs to the server';
  return reserved.has(schema) ? 'which is a word of SQL' : null;
}

/** Those that PostgreSQL 18 takes for no name; a later one's own are refused by the server. */
const reserved: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate
  collation column concurrently constraint create cross current_catalog current_date current_role
  current_schema current_time current_timestamp current_user default deferrable desc distinct do else end
  except false fetch for foreign freeze from full grant group having ilike in initially inner intersect into
  is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on
  only or order outer overlaps placing primary references returning right select session_user similar some
  symmetric system_user table tablesample then to trailing true union unique user using variadic verbose when
  where window with`.split(/\s+/),
);
