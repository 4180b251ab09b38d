/**
 * What git needs in its environment to fetch and push with the token. Not among its arguments: those
 * can be seen by every user of the machine.
 */
export function gitHubCredential({
  token,
  webUrl = 'https://github.com',
}: {
  readonly token: string;
  readonly webUrl?: string;
}): Readonly<Record<string, string>> {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${webUrl}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}
