import type { ServerContext } from './context.ts';

/** A path of this server under the address that people know; as it is where none is set. */
export function publicLink({ publicUrl }: Pick<ServerContext, 'publicUrl'>, url: string): string {
  return publicUrl !== null && url.startsWith('/') ? `${publicUrl}${url}` : url;
}
