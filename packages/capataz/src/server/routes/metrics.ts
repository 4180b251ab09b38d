import { CapatazError } from '../../protocol/errors.ts';
import { isSameToken } from '../access.ts';
import type { MetricsSource } from '../context.ts';
import type { Answer, Call, Route } from '../route.ts';

/** Where Prometheus looks by itself, and beside the other routes that work before the server is ready. */
const paths = [
  { path: '/metrics', id: 'metrics' },
  { path: '/_public/metrics', id: 'publicMetrics' },
];

export function metricsRoutes(metrics: MetricsSource | null): Route[] {
  if (metrics === null) return [];
  return paths.map(({ path, id }) => ({
    method: 'GET',
    path,
    area: 'public',
    operation: {
      id,
      summary: 'Metrics for Prometheus',
      description:
        'Figures that come from the store are at most 5 s old. Where the setting `metrics_token` is given, it is asked for.',
      headers: { Authorization: '`Bearer` and the metrics token, where there is one' },
      answers: {
        200: {
          description: 'Text format 0.0.4; OpenMetrics, with exemplars, for who accepts it',
          types: ['text/plain', 'application/openmetrics-text'],
        },
      },
      errors: ['UNAUTHORIZED', 'STORE_UNAVAILABLE'],
    },
    handle: (call) => answer(metrics, call),
  }));
}

async function answer(metrics: MetricsSource, { request }: Call): Promise<Answer> {
  admit(metrics.token, request.headers.authorization);
  const { text, contentType } = await metrics.scrape(request.headers.accept);
  return { status: 200, text, type: contentType };
}

/** @throws UNAUTHORIZED */
function admit(token: string | null, authorization: string | undefined): void {
  if (token === null) return;
  const [, given = ''] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (isSameToken(given, token)) return;
  throw new CapatazError('UNAUTHORIZED', 'The metrics ask for Authorization: Bearer and a token.');
}
