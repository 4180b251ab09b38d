import type { ServerContext } from '../context.ts';
import { type OpenApiDocument, openApiDocument } from '../docs/openapi.ts';
import type { Route } from '../route.ts';
import { approvalPageRoutes } from './approval-pages.ts';
import { approvalRoutes } from './approvals.ts';
import { blueprintRoutes } from './blueprints.ts';
import { fileRoutes } from './files.ts';
import { jobStartRoutes } from './job-starts.ts';
import { jobRoutes } from './jobs.ts';
import { publicRoutes } from './public.ts';
import { signalRoutes } from './signals.ts';
import { workerFileRoutes } from './worker-files.ts';
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
    ...signalRoutes(context),
    ...approvalRoutes(context),
    ...approvalPageRoutes(context),
    ...fileRoutes(context),
    ...blueprintRoutes(context),
    ...workerListRoutes(context),
    ...workerRoutes(context),
    ...workerFileRoutes(context),
  ];
  return routes;
}
