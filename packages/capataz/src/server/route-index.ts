import type { Route } from './route.ts';

/** Which methods a path takes: only asked when a request found no route. */
export class RouteIndex {
  readonly #entries: readonly { readonly pattern: RegExp; readonly method: string }[];

  constructor(routes: readonly Route[]) {
    this.#entries = routes.map(({ path, method }) => ({
      pattern: new RegExp(
        `^${path
          .replaceAll('.', '\\.')
          .replace('{path}', '.+')
          .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
      ),
      method,
    }));
  }

  methodsOf(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    return this.#entries.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  }
}
