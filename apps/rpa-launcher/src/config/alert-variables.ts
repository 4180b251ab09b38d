import type { Variables } from './variable.ts';

/** Mail and logs. */
export const alertVariables = {
  deviceFailureThreshold: {
    name: 'LANZADOR_UMBRAL_ALERTAS_412',
    otherNames: ['LANZADOR_ALERTAS_ERROR_412_UMBRAL'],
    type: 'integer',
    default: '20',
    range: [1, 100_000],
    meaning: 'Deploy cycles in a row that end with 412 on a device before it is alerted.',
  },
  alertRepeatMs: {
    name: 'LANZADOR_ALERTAS_REPETIR_MIN',
    type: 'minutes',
    default: '30',
    range: [1, 10_080],
    meaning: 'An alert that lasts is mailed again after these minutes.',
  },
  maxMailsPerHour: {
    name: 'LANZADOR_ALERTAS_MAX_POR_HORA',
    type: 'integer',
    default: '30',
    range: [1, 10_000],
    meaning: 'More alerts than these wait; a mail says that they do.',
  },
  smtpServer: {
    name: 'EMAIL_SMTP_SERVER',
    type: 'text',
    default: null,
    meaning: 'None: alerts go to the log only.',
  },
  smtpPort: {
    name: 'EMAIL_SMTP_PORT',
    type: 'port',
    default: '587',
    meaning: '465 speaks TLS from the start, others begin it with STARTTLS.',
  },
  mailFrom: {
    name: 'EMAIL_FROM',
    type: 'text',
    default: null,
    meaning: 'The sender of alerts.',
  },
  mailTo: {
    name: 'EMAIL_RECIPIENTS',
    type: 'list',
    default: null,
    meaning: 'Everybody who gets them.',
  },
  smtpUsesTls: {
    name: 'EMAIL_USE_TLS',
    type: 'boolean',
    default: 'True',
    meaning: 'Nothing is sent over a connection that is not encrypted.',
  },
  smtpUser: {
    name: 'EMAIL_USER',
    type: 'text',
    default: null,
    meaning: 'None: no login.',
  },
  smtpPassword: {
    name: 'EMAIL_PASSWORD',
    type: 'secret',
    default: null,
    meaning: 'Of this user.',
  },
  logFolder: {
    name: 'LOG_DIRECTORY',
    type: 'text',
    default: null,
    meaning: 'Where the log file lies. None: standard error only.',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    type: 'choice',
    choices: ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'],
    default: 'INFO',
    meaning: 'The least that is logged.',
  },
  logFiles: {
    name: 'LOG_BACKUP_COUNT',
    type: 'integer',
    default: '7',
    range: [0, 3_650],
    meaning: 'Log files of former days that are kept.',
  },
  logFileName: {
    name: 'APP_LOG_FILENAME_LANZADOR',
    type: 'text',
    default: 'sam_lanzador_app.log',
    meaning: 'The log file of today.',
  },
} as const satisfies Variables;
