import type { ServerContext } from '../context.ts';
import { type OpenApiDocument, openApiDocument } from '../docs/openapi.ts';
import type { Route } from '../route.ts';
import { blueprintRoutes } from './blueprints.ts';
import { jobStartRoutes } from './job-starts.ts';
import { jobRoutes } from './jobs.ts';
import { publicRoutes } from './public.ts';
import { workerRoutes } from './worker-wire.ts';
import { workerListRoutes } from './workers.ts';

/** The one table of routes. */
export function allRoutes(context: ServerContext): readonly Route[] {
  let document: OpenApiDocument | undefined;
  const routes: Route[] = [
    ...publicRoutes(context, () => {
      document ??= openApiDocument(routes, context.version);
      return document;
    }),
    ...jobStartRoutes(context),
    ...jobRoutes(context),
    ...blueprintRoutes(context),
    ...workerListRoutes(context),
    ...workerRoutes(context),
  ];
  return routes;
}
