/** The environment for programs that are started from here: agents, git, tests. */
export function processEnvironment(): Record<string, string> {
  return withoutOwnSettings(process.env);
}

/**
 * Settings of this product are no business of the programs that it starts: tokens are among them, and
 * an agent can be talked into telling what it sees. The mark of a test run stays, so that what a test
 * leaves behind is found.
 */
export function withoutOwnSettings(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || /^CAPATAZ_(?!TEST_RUN$)/.test(name) ? [] : [[name, value]],
    ),
  );
}
