/** The keys of providers, by the names that the catalog gives them. */
export function keysInEnvironment(names: Iterable<string>): Record<string, string | undefined> {
  return Object.fromEntries([...names].map((name) => [name, process.env[name]]));
}
