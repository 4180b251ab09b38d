import type { AddressInfo } from 'node:net';
import websocket from '@fastify/websocket';
import Fastify, {
  type FastifyInstance,
  type FastifyPluginCallback,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify';
import type { EnginePorts } from '../engine/ports.ts';
import type { FilesOptions } from '../files/contract.ts';
import { LinkKey } from '../files/links.ts';
import { socketProtocol } from '../protocol/client-socket.ts';
import { CapatazError } from '../protocol/errors.ts';
import { rxonVersion } from '../protocol/worker-api.ts';
import type { Clock } from '../std/clock.ts';
import { cleanText, parseJson } from '../std/json.ts';
import type { Log, LogFields } from '../std/log.ts';
import { type Random, systemRandom } from '../std/random.ts';
import { RateCap } from '../std/rate-cap.ts';
import type { Access } from './access.ts';
import { closeGracefully } from './close.ts';
import type { MetricsSource, SchedulesPort, ServerContext } from './context.ts';
import { correlationHeader, correlationOf } from './correlation.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { LiveFeed } from './live-feed.ts';
import {
  internalError,
  isHangUp,
  jsonRefusal,
  refusalOf,
  retryAfterSeconds,
  workerErrorBody,
} from './problems.ts';
import { type Area, type Route, routerPath, send, type Upgrade } from './route.ts';
import { RouteIndex } from './route-index.ts';
import { allRoutes } from './routes/all.ts';
import { tokenInProtocols } from './routes/socket.ts';
import { WorkerConnections } from './worker-connections.ts';
import { admitWorker } from './worker-identity.ts';

export interface HttpServerOptions {
  readonly engine: EnginePorts;
  readonly access: Access;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<Limits>;
  /** The product's version, for the documents. */
  readonly version: string;
  /** Default: jobs have no files, and there are no routes for them. */
  readonly files?: FilesOptions;
  /** Signs links to approvals. Default: a key of this process, whose links end with it. */
  readonly linkKey?: LinkKey;
  /** What links for people begin with, without a slash at its end. Default: links are paths. */
  readonly publicUrl?: string | null;
  /** Default: the machine's. */
  readonly random?: Random;
  /** Default: there are none, and no routes for them. */
  readonly schedules?: SchedulesPort;
  /** Default: there is no `/metrics`. */
  readonly metrics?: MetricsSource;
  /** An application's own, beside ours. @throws CONFIG_INVALID for one that takes what ours take. */
  readonly furtherRoutes?: readonly Route[];
}

export interface HttpServer {
  /** Port 0 takes a free one. @returns the base URL. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
  /**
   * Takes no new connections and gives out no tasks, lets running requests finish, and closes what
   * is still open after `drainMs`.
   */
  close(options: { readonly drainMs: number }): Promise<void>;
  /** The one table of routes, in order. */
  readonly routes: readonly Route[];
}

/** The engine over HTTP: public, client and worker routes. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const closing = new AbortController();
  const limits = { ...defaultLimits, ...options.limits };
  const { random = systemRandom, linkKey = LinkKey.ofProcess(random) } = options;
  const context: ServerContext = {
    ...options,
    random,
    linkKey,
    limits,
    closing: closing.signal,
    files: options.files ?? null,
    schedules: options.schedules ?? null,
    metrics: options.metrics ?? null,
    publicUrl: options.publicUrl ?? null,
    uploads: new WeakSet(),
    feed: new LiveFeed(options.engine.events, options.clock),
    connections: new WorkerConnections((worker) => {
      options.log.info("a worker's last connection closed", { worker });
      options.engine.workers.connectionDropped(worker);
    }),
  };
  const routes = allRoutes(context, options.furtherRoutes);
  const app = createApp(limits, context, routes);
  addBodyParser(app);
  addHooks(app, context);
  addErrorAnswers(app, context, new RouteIndex(routes));
  for (const route of routes) {
    if (route.upgrade !== undefined) app.register(addSocketRoute(context, route, route.upgrade));
    else if (route.takes === undefined) addRoute(app, context, route);
    else app.register(addRouteApart(context, route));
  }

  return {
    routes,
    async listen({ host, port }) {
      await app.listen({ host, port });
      // A server that listens on host and port has an address of this form.
      const address = app.server.address() as AddressInfo;
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      return `http://${name}:${address.port}`;
    },
    async close({ drainMs }) {
      closing.abort();
      context.connections.stop();
      await closeGracefully(app.server, options.clock, drainMs);
      context.feed.close();
      await app.close();
    },
  };
}

function createApp(
  limits: Limits,
  { uploads, random }: Pick<ServerContext, 'uploads' | 'random'>,
  routes: readonly Route[],
): FastifyInstance {
  const sockets = routes.flatMap(({ path, upgrade }) => (upgrade === undefined ? [] : [path]));
  return Fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    keepAliveTimeout: limits.keepAliveMs,
    requestTimeout: limits.requestMs,
    http: {
      headersTimeout: limits.requestMs,
      // Every other wish to upgrade is passed over, as HTTP asks: some clients wish for h2c each time.
      shouldUpgradeCallback: ({ headers, url = '' }) =>
        headers.upgrade?.toLowerCase() === 'websocket' && sockets.includes(url.split('?')[0] ?? ''),
    },
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 300 },
    frameworkErrors: (error, request, reply) => {
      // Before any hook.
      reply.header(correlationHeader, correlationOf(request, random));
      answerError(reply, refusalOf(error) ?? error);
    },
    clientErrorHandler(error, socket) {
      // Node's limit is for the whole request; a file that still goes on has a watch of its own.
      const isLate = 'code' in error && error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
      if (!socket.writable || (isLate && uploads.has(socket))) return;
      const body = JSON.stringify(
        new CapatazError('MALFORMED_REQUEST', 'The request is not HTTP as it should be.').toBody(),
      );
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      );
    },
  });
}

/** An empty body counts as none: several clients send the content type with every request. */
function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i,
    { parseAs: 'string' },
    (_request, body, done) => {
      // `parseAs: 'string'` hands over a string.
      const text = body as string;
      if (text === '') return done(null, undefined);
      const parsed = parseJson(text);
      if (parsed.ok) return done(null, parsed.value);
      done(jsonRefusal(parsed.problem));
    },
  );
}

function addHooks(app: FastifyInstance, { engine, closing, random }: ServerContext): void {
  app.decorateRequest('client', null);
  app.decorateRequest('worker', null);
  app.decorateRequest('correlation', '');
  // Hooks with callbacks: they run for every request, and spare it the turns of a promise.
  app.addHook('onRequest', (request, reply, done) => {
    request.correlation = correlationOf(request, random);
    // RXON's answers have no such header; who sent one knows it.
    if (!isWorkerRequest(request) || request.headers[correlationHeader] !== undefined)
      reply.header(correlationHeader, request.correlation);
    if (isWorkerRequest(request)) {
      reply.header('X-RXON-Version', rxonVersion);
      // HTTP/1.1 keeps connections without being told, and RXON's answers don't say it.
      if (request.raw.httpVersion === '1.1' && reply.raw.shouldKeepAlive) {
        reply.raw.removeHeader('connection');
      }
    }
    // A database that keeps no such text would fail on it.
    if (request.url.includes('%00'))
      return done(new CapatazError('MALFORMED_REQUEST', 'Path and query hold no U+0000.'));
    if (engine.ready || request.url.startsWith('/_public/')) done();
    else done(new CapatazError('NOT_READY', 'The server is starting or stopping.'));
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing.aborted) reply.header('Connection', 'close');
    done();
  });
}

function addRoute(app: FastifyInstance, context: ServerContext, route: Route): void {
  app.route({
    method: route.method,
    url: routerPath(route.path),
    exposeHeadRoute: route.area === 'public',
    onRequest: admissions(context)[route.area],
    handler: async (request, reply) => send(reply, await route.handle({ request, reply })),
  });
}

/** A scope of its own, where bodies are read as this route takes them. */
function addRouteApart(context: ServerContext, route: Route): FastifyPluginCallback {
  return (app, _options, done) => {
    app.removeAllContentTypeParsers();
    if (route.takes === 'form') addFormParser(app);
    else app.addContentTypeParser('*', (_request, _body, parsed) => parsed(null));
    addRoute(app, context, route);
    done();
  };
}

/** Messages of a client are short. */
const maxSocketMessageBytes = 64 * 1024;

/** A scope of its own, so that no other route pays for it. Whoever is refused is answered before the upgrade. */
function addSocketRoute(
  context: ServerContext,
  route: Route,
  { admit, begin }: Upgrade,
): FastifyPluginCallback {
  return (scope, _options, done) => {
    scope.register(websocket, {
      options: {
        maxPayload: maxSocketMessageBytes,
        handleProtocols: (offered) => offered.has(socketProtocol) && socketProtocol,
      },
      // What a caller does wrong on its socket closes that, with the code that says what.
      errorHandler: (error, socket) => {
        context.log.debug('a socket of a client failed', { error });
        socket.close();
      },
    });
    scope.register((app, _none, ready) => {
      app.route({
        method: 'GET',
        url: routerPath(route.path),
        onRequest: admissions(context)[route.area],
        preHandler: (request, _reply, next) => {
          next(request.ws ? refusalFrom(() => admit(request)) : undefined);
        },
        handler: async (request, reply) => send(reply, await route.handle({ request, reply })),
        wsHandler: (socket, request) => begin(request, socket),
      });
      ready();
    });
    done();
  };
}

function addFormParser(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => {
      // `parseAs: 'string'` hands over a string.
      done(null, formFields(new URLSearchParams(body as string)));
    },
  );
}

/** What is given more than once is a list, so that none of it counts by chance. */
function formFields(form: URLSearchParams): Record<string, string | string[]> {
  const fields = [...new Set(form.keys())].map((name) => {
    const [first = '', ...others] = form.getAll(name).map(cleanText);
    return [name, others.length === 0 ? first : [first, ...others]] as const;
  });
  return Object.fromEntries(fields);
}

/** Who may enter is settled before a body is read. */
function admissions({ access }: ServerContext): Record<Area, onRequestHookHandler[]> {
  return {
    public: [],
    client: [(request, _reply, done) => done(refusalFrom(() => admitClient(access, request)))],
    worker: [(request, _reply, done) => done(refusalFrom(() => admitWorker(access, request)))],
  };
}

/** @throws UNAUTHORIZED */
function admitClient(access: Access, request: FastifyRequest): void {
  const { 'x-client-token': header, 'sec-websocket-protocol': protocols } = request.headers;
  const token = header ?? tokenInProtocols(protocols);
  request.client = access.client(typeof token === 'string' ? token : undefined);
  if (request.client !== null) return;
  throw new CapatazError(
    'UNAUTHORIZED',
    token === undefined ? 'Missing X-Client-Token header' : 'Unauthorized: Invalid token',
  );
}

function refusalFrom(admit: () => void): CapatazError | undefined {
  try {
    admit();
    return undefined;
  } catch (error) {
    if (error instanceof CapatazError) return error;
    throw error;
  }
}

/** Lines of the log that one address can cause by wrong tokens. */
const strangerCap = { most: 20, windowMs: 60_000 };

function addErrorAnswers(
  app: FastifyInstance,
  { log, clock }: ServerContext,
  index: RouteIndex,
): void {
  const strangers = new RateCap(clock, strangerCap);
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalOf(error);
    if (refusal === undefined || refusal.code === 'INTERNAL') {
      const about = {
        error,
        method: request.method,
        route: request.routeOptions.url,
        ...subjectsOf(request),
      };
      if (isHangUp(error) && !request.raw.complete)
        log.debug('a caller hung up before its request was whole', about);
      else log.error('a request failed', about);
      return answerError(reply, internalError());
    }
    if (refusal.code === 'UNAUTHORIZED' || refusal.code === 'FORBIDDEN') {
      const admission = strangers.admit(request.ip);
      const left = admission === 'last' ? { more: 'left out within this minute' } : {};
      const { code, message: reason } = refusal;
      const about = { code, reason, route: request.routeOptions.url, from: request.ip, ...left };
      if (admission !== 'no')
        log.warn('a caller was refused', { ...about, ...subjectsOf(request) });
    }
    return answerError(reply, refusal);
  });
  app.setNotFoundHandler((request, reply) => {
    const methods = index.methodsOf(request.url);
    if (methods.length === 0) {
      return answerError(reply, new CapatazError('NOT_FOUND', 'There is no such route.'));
    }
    reply.header('Allow', methods.join(', '));
    const message = `This route takes ${methods.join(', ')}.`;
    return answerError(reply, new CapatazError('METHOD_NOT_ALLOWED', message));
  });
}

function answerError(reply: FastifyReply, error: unknown): FastifyReply {
  const refusal = refusalOf(error) ?? internalError();
  const seconds = retryAfterSeconds(refusal);
  if (seconds !== undefined) reply.header('Retry-After', String(seconds));
  const json = isWorkerRequest(reply.request) ? workerErrorBody(refusal) : refusal.toBody();
  return send(reply, { status: refusal.status, json });
}

function isWorkerRequest({ url }: FastifyRequest): boolean {
  return url.startsWith('/_worker');
}

/** What a request is about, as far as its path and headers tell. */
function subjectsOf({ params, worker, url, correlation }: FastifyRequest): LogFields {
  // Fastify types params as unknown; its router fills them with the path's own text.
  const { id } = (params ?? {}) as { readonly id?: string };
  return {
    correlation,
    ...(id !== undefined && url.startsWith('/api/v1/jobs/') ? { job: id } : {}),
    ...(worker === null ? {} : { worker }),
  };
}
