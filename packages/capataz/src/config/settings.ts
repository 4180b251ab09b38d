import type { Setting, SettingValues } from './setting.ts';

/**
 * Every setting there is, in one table: the flags of the commands, the names in the environment,
 * the keys of `capataz.toml`, `capataz config` and the reference are all made from it.
 */
export const settings = {
  host: {
    type: 'string',
    default: '127.0.0.1',
    meaning:
      'Address on which the server listens. One that is not loopback needs tokens: clients and workers must be configured.',
    aliases: [{ name: 'API_HOST' }],
  },
  port: {
    type: 'port',
    default: 8080,
    meaning: 'Port on which the server listens; 0 takes a free one and says which.',
    aliases: [{ name: 'API_PORT' }],
  },
  publicUrl: {
    type: 'url',
    isBase: true,
    default: null,
    meaning:
      'Address under which people reach the server, as behind a proxy: links to approvals and files begin with it. Default: the address on which it listens.',
  },
  dataDir: {
    type: 'folder',
    default: '.capataz',
    meaning:
      'Folder of the embedded SQLite store, which one process at a time holds, and of the files of jobs.',
  },
  storeUrl: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'PostgreSQL in place of the embedded store, which any number of servers may share: `postgres://user:password@host:5432/database`, with `?schema=` for one that is not `capataz`. `memory:` keeps jobs only as long as the process lives, for tests.',
  },
  storeDirectUrl: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'The PostgreSQL server itself, where `store_url` goes through a pooler that lends connections for one transaction: for migrations, and to hear of other servers’ work.',
  },
  storeConnections: {
    type: 'integer',
    default: 4,
    range: [1, 1_000],
    meaning:
      'Connections of this server to PostgreSQL besides the three that commit and the one that listens.',
  },
  blueprints: {
    type: 'path',
    default: 'blueprints',
    meaning:
      'Folder whose modules are the blueprints. Every .ts, .mts, .cts, .js, .mjs and .cjs file directly in it is loaded; one bad module stops the start.',
    aliases: [{ name: 'BLUEPRINTS_DIR' }],
  },
  clients: {
    type: 'path',
    default: 'clients.toml',
    meaning: 'File of the clients and their tokens. Without one everybody is the client `dev`.',
    aliases: [{ name: 'CLIENTS_CONFIG_PATH' }],
  },
  workers: {
    type: 'path',
    default: 'workers.toml',
    meaning:
      "File of the workers' own tokens. Without one, and without a common token, any worker may come.",
    aliases: [{ name: 'WORKERS_CONFIG_PATH' }],
  },
  schedules: {
    type: 'path',
    default: 'schedules.toml',
    meaning: 'File of the schedules: which jobs start when.',
    aliases: [{ name: 'SCHEDULES_CONFIG_PATH' }],
  },
  commonWorkerToken: {
    type: 'string',
    default: null,
    secret: true,
    meaning: 'Token for workers that have none of their own.',
    aliases: [{ name: 'GLOBAL_WORKER_TOKEN' }],
  },
  metricsToken: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'Token that `/metrics` asks for, as `Authorization: Bearer`. Without one whoever reaches the server may read them.',
  },
  instance: {
    type: 'string',
    default: null,
    meaning: 'Name of this server among those that share a store. Default: host name and process.',
    aliases: [{ name: 'INSTANCE_ID' }],
  },
  timeZone: {
    type: 'zone',
    default: 'UTC',
    meaning:
      'IANA zone in which the commands show instants, and of schedules that name none; instants are stored in UTC.',
    aliases: [{ name: 'TZ' }],
  },
  logLevel: {
    type: 'choice',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    meaning: 'Least important lines that are logged.',
    aliases: [{ name: 'LOG_LEVEL' }],
  },
  logFormat: {
    type: 'choice',
    default: 'auto',
    choices: ['auto', 'json', 'pretty'],
    meaning: 'Form of the log on stderr; `auto` is pretty on a terminal and JSON elsewhere.',
    aliases: [{ name: 'LOG_FORMAT' }],
  },
  maxPoll: {
    type: 'duration',
    default: '60s',
    meaning: "Longest wait of a worker's poll; a longer wish is cut to it.",
    aliases: [{ name: 'WORKER_POLL_TIMEOUT_SECONDS', unit: 'seconds' }],
  },
  maxBodyBytes: {
    type: 'integer',
    default: 4_194_304,
    range: [1_024, 268_435_456],
    meaning: 'Largest request body, in bytes. Above it: 413.',
  },
  filesMaxSize: {
    type: 'integer',
    default: 1_073_741_824,
    range: [1, 1_099_511_627_776],
    meaning: 'Largest file of a job, in bytes. Above it: 413.',
  },
  filesMaxTransfers: {
    type: 'integer',
    default: 20,
    range: [1, 10_000],
    meaning: 'Files that are uploaded and downloaded at once. Above it: 503 with Retry-After.',
    aliases: [{ name: 'S3_MAX_CONCURRENCY' }],
  },
  filesKeep: {
    type: 'boolean',
    default: false,
    meaning:
      'Whether the files of a job stay when it has ended, until the job itself is removed. By default they go with its end; a quarantined job keeps its own.',
  },
  maxStreams: {
    type: 'integer',
    default: 1_000,
    range: [0, 100_000],
    meaning: 'Event streams open at once. Above it: 429.',
  },
  maxTransitions: {
    type: 'integer',
    default: 100,
    range: [1, 1_000_000],
    meaning: 'Transitions without a wait between them, after which a job fails as an endless loop.',
    aliases: [{ name: 'MAX_TRANSITIONS_PER_JOB' }],
  },
  maxHandlers: {
    type: 'integer',
    default: 1_000,
    range: [1, 100_000],
    meaning: '`run` handlers at once on this server; further ones wait their turn.',
    aliases: [{ name: 'EXECUTOR_MAX_CONCURRENT_JOBS' }],
  },
  handlerLease: {
    type: 'duration',
    default: '10s',
    range: [1_000, 3_600_000],
    meaning: "Life of a handler's lease: how soon another server takes over after a crash.",
  },
  checkEvery: {
    type: 'duration',
    default: '60s',
    range: [1_000, 86_400_000],
    meaning: 'Between two slices of the check that no job is in limbo.',
  },
  orphanAfter: {
    type: 'duration',
    default: '10m',
    range: [1_000, 2_592_000_000],
    meaning: 'How long nobody may offer a blueprint version before its jobs are quarantined.',
  },
  history: {
    type: 'string',
    default: 'on',
    secret: true,
    words: ['on', 'off'],
    meaning:
      'Where the history of a job goes a minute after its end. `on`: it stays in the store. `off`: it is deleted. `sqlite:/path/history.db` or `postgres://user:password@host:5432/database` (with `?schema=` for one that is not `capataz_history`): it is moved there, and read from there; servers that share a store need PostgreSQL, and it past any pooler.',
    aliases: [{ name: 'HISTORY_DATABASE_URI' }],
  },
  retentionAge: {
    type: 'duration',
    default: '30d',
    range: [1_000, 3_153_600_000_000],
    canBeOff: true,
    meaning:
      'How long an ended job is kept, with its history; then it is removed for good. `off`: age is no reason. Its idempotency key keeps its 24 h.',
  },
  retentionCount: {
    type: 'integer',
    default: 1_000_000,
    range: [1, 1_000_000_000],
    canBeOff: true,
    meaning:
      'How many ended jobs are kept, the latest; the others are removed whatever their age. `off`: as many as there are.',
  },
  timeoutMonitor: {
    type: 'boolean',
    default: true,
    meaning:
      'Whether attempts are given up that were handed out and show no sign of work, though their worker lives.',
  },
  assignedTimeout: {
    type: 'duration',
    default: '5m',
    range: [1_000, 2_592_000_000],
    meaning: 'Longest time of an attempt in ASSIGNED, that is without a sign of work.',
  },
  scheduledTimeout: {
    type: 'duration',
    default: '10m',
    range: [1_000, 2_592_000_000],
    meaning: 'The same in SCHEDULED, that is for a task which only its worker may do.',
  },
  timeoutCheckInterval: {
    type: 'duration',
    default: '30s',
    range: [1_000, 86_400_000],
    meaning: 'Between two looks for such attempts, and before the first.',
  },
  timeoutBatchSize: {
    type: 'integer',
    default: 100,
    range: [1, 10_000],
    meaning: 'Attempts of each of the two statuses that one look gives up at most.',
  },
  busUrl: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'Where events go that jobs emit: `amqp://user:password@host:5672/vhost`, a RabbitMQ, or `postgres://user:password@host:port/database`, a PostgreSQL, with `?schema=` for one that is not `capataz_bus`. Without one, and without a bus in the application, they rest in the outbox.',
  },
  busPrefix: {
    type: 'string',
    default: null,
    meaning:
      'Stands before the names of all exchanges and queues at `bus_url`, so that several systems can share a broker; the same for every process of one system. Default: nothing.',
  },
  outboxMaxRetries: {
    type: 'integer',
    default: 5,
    range: [0, 1_000],
    meaning:
      'Tries to publish an event after the first, before it is a dead letter. While the bus is down none is made.',
  },
  outboxRetryBase: {
    type: 'duration',
    default: '5s',
    range: [1, 86_400_000],
    meaning: 'Pause before the first of them; it doubles with each.',
  },
  outboxRetryCap: {
    type: 'duration',
    default: '30m',
    range: [1, 86_400_000],
    meaning: 'Longest pause between two of them.',
  },
  drain: {
    type: 'duration',
    default: '10s',
    meaning:
      'How long a stopping server waits for its `run` handlers; others take over afterwards.',
  },
  url: {
    type: 'url',
    default: null,
    meaning:
      'Server that a command or worker talks to. Default: the one that holds the data folder; where there is none, http://127.0.0.1:8080.',
    aliases: [{ name: 'ORCHESTRATOR_URL' }],
  },
  token: {
    type: 'string',
    default: null,
    secret: true,
    meaning: "The client's token for that server.",
  },
  workerToken: {
    type: 'string',
    default: null,
    secret: true,
    meaning: 'Token of `capataz worker`.',
    aliases: [{ name: 'WORKER_INDIVIDUAL_TOKEN' }, { name: 'WORKER_TOKEN' }],
  },
  workerId: {
    type: 'string',
    default: null,
    meaning:
      'Id of `capataz worker`: the same after a restart, and of no two living processes. Default: host and module name, with -2, -3… for further processes on the same host.',
    aliases: [{ name: 'WORKER_ID' }],
  },
  workerConcurrency: {
    type: 'integer',
    default: null,
    range: [1, 100_000],
    meaning:
      "Handlers that `capataz worker` runs at once. Default: the module's own figure, or 10.",
    aliases: [{ name: 'MAX_CONCURRENT_TASKS' }],
  },
  workerHeartbeat: {
    type: 'duration',
    default: '3s',
    range: [100, 3_600_000],
    meaning:
      'Between two signs of life of `capataz worker`; three missed ones and it counts as lost.',
    aliases: [{ name: 'HEARTBEAT_INTERVAL', unit: 'seconds' }],
  },
  workerDrain: {
    type: 'duration',
    default: '30s',
    meaning: 'How long a stopping worker lets its handlers go on before it hands their tasks back.',
    aliases: [{ name: 'WORKER_SHUTDOWN_TIMEOUT', unit: 'seconds' }],
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settings;

/** Of our own settings. */
export type Config = SettingValues<typeof settings>;

export const settingNames: readonly SettingName[] = Object.keys(settings) as SettingName[];

export function settingOf(name: SettingName): Setting {
  return settings[name];
}
