/** Names and values as the process was given them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The one reader of the process's environment; everything else gets values. */
export function processEnvironment(): Environment {
  return process.env;
}
