import type { ServerContext } from '../context.ts';
import { type OpenApiDocument, openApiDocument } from '../docs/openapi.ts';
import type { Route } from '../route.ts';
import { refuseClashes } from '../route-clash.ts';
import { approvalPageRoutes } from './approval-pages.ts';
import { approvalRoutes } from './approvals.ts';
import { blueprintRoutes } from './blueprints.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { fileRoutes } from './files.ts';
import { jobStartRoutes } from './job-starts.ts';
import { jobRoutes } from './jobs.ts';
import { metricsRoutes } from './metrics.ts';
import { publicRoutes } from './public.ts';
import { scheduleRoutes } from './schedules.ts';
import { signalRoutes } from './signals.ts';
import { socketRoutes } from './socket.ts';
import { workerFileRoutes } from './worker-files.ts';
import { workerRoutes } from './worker-wire.ts';
import { workerListRoutes } from './workers.ts';

/**
 * The one table of routes.
 * @param further an application's own
 * @throws CapatazError CONFIG_INVALID where one of those takes what another takes
 */
export function allRoutes(
  context: ServerContext,
  further: readonly Route[] = [],
): readonly Route[] {
  let document: OpenApiDocument | undefined;
  const routes: Route[] = [
    ...publicRoutes(context, () => {
      document ??= openApiDocument(routes, context.version);
      return document;
    }),
    ...metricsRoutes(context.metrics),
    ...jobStartRoutes(context),
    ...jobRoutes(context),
    ...socketRoutes(context),
    ...signalRoutes(context),
    ...approvalRoutes(context),
    ...approvalPageRoutes(context),
    ...deadLetterRoutes(context),
    ...scheduleRoutes(context),
    ...fileRoutes(context),
    ...blueprintRoutes(context),
    ...workerListRoutes(context),
    ...workerRoutes(context),
    ...workerFileRoutes(context),
  ];
  refuseClashes(routes, further);
  routes.push(...further);
  return routes;
}
