import type { Variables } from './variable.ts';

/** The Control Room, the API gateway, and the callbacks that come back. */
export const connectionVariables = {
  controlRoomUrl: {
    name: 'AA_CR_URL',
    type: 'url',
    default: null,
    isRequired: true,
    meaning: 'The Control Room.',
  },
  controlRoomUser: {
    name: 'AA_CR_USER',
    type: 'text',
    default: null,
    isRequired: true,
    meaning:
      'The launcher’s own user: whoever logs in with the same one ends the launcher’s session.',
  },
  controlRoomApiKey: {
    name: 'AA_CR_API_KEY',
    type: 'secret',
    default: null,
    meaning: 'Goes before the password.',
  },
  controlRoomPassword: {
    name: 'AA_CR_PWD',
    type: 'secret',
    default: null,
    meaning: 'Where there is no API key.',
  },
  allowsMultipleLogin: {
    name: 'AA_CR_MULTIPLE_LOGIN',
    type: 'boolean',
    default: 'False',
    meaning: 'Of logins with a password: other sessions of the user stay.',
  },
  apiTimeoutMs: {
    name: 'AA_API_TIMEOUT_SECONDS',
    type: 'seconds',
    default: '120',
    range: [1, 3_600],
    meaning: 'A call to the Control Room that takes longer counts as unanswered.',
  },
  verifiesTls: {
    name: 'AA_VERIFY_SSL',
    type: 'boolean',
    default: 'True',
    meaning: 'Whether certificates of the Control Room are checked. False lets anybody read along.',
  },
  pageSize: {
    name: 'AA_DEFAULT_PAGE_SIZE',
    type: 'integer',
    default: '100',
    range: [1, 10_000],
    meaning: 'Rows asked for in one call; the Control Room may give fewer.',
  },
  maxPages: {
    name: 'AA_MAX_PAGINATION_PAGES',
    type: 'integer',
    default: '1000',
    range: [1, 1_000_000],
    meaning: 'A list with more pages is an error: half a list is worse than none.',
  },
  tokenRefreshMs: {
    name: 'AA_TOKEN_REFRESH_BUFFER_SEC',
    type: 'seconds',
    default: '1140',
    range: [1, 86_400],
    meaning:
      'The age at which a token is replaced. One that lives shorter is replaced after 95 % of its life.',
  },
  maxRequestsPerSecond: {
    name: 'AA_MAX_PETICIONES_SEG',
    type: 'integer',
    default: '20',
    range: [1, 10_000],
    meaning: 'Calls to the Control Room begun in one second; more wait.',
  },
  robotPath: {
    name: 'LANZADOR_ROBOTS_RUTA',
    type: 'text',
    default: 'RPA',
    emptyIsNone: true,
    meaning: 'Only files whose path contains this are robots. Empty: all.',
  },
  robotNames: {
    name: 'LANZADOR_ROBOTS_NOMBRE_PATRON',
    type: 'pattern',
    default: '^P[A-Z0-9]*[0-9][A-Z0-9]*_',
    meaning: 'Only files whose name fits are robots.',
  },
  robotNamesLeftOut: {
    name: 'LANZADOR_ROBOTS_NOMBRE_EXCLUIR',
    type: 'text',
    default: 'loop',
    emptyIsNone: true,
    meaning: 'Files whose name contains this, in whatever case, are none. Empty: no exception.',
  },
  runnerLicenses: {
    name: 'LANZADOR_LICENCIAS',
    type: 'list',
    default: 'ATTENDEDRUNTIME,RUNTIME',
    meaning: 'A device needs a default user with one of these licenses.',
  },
  gatewayUrl: {
    name: 'API_GATEWAY_URL',
    type: 'url',
    default: null,
    meaning: 'Where the token for callback headers comes from. None: callbacks carry none.',
  },
  gatewayClientId: {
    name: 'API_GATEWAY_CLIENT_ID',
    type: 'text',
    default: null,
    meaning: 'Also sent as x-ibm-client-id.',
  },
  gatewayClientSecret: {
    name: 'API_GATEWAY_CLIENT_SECRET',
    type: 'secret',
    default: null,
    meaning: 'Of this client.',
  },
  gatewayGrantType: {
    name: 'API_GATEWAY_GRANT_TYPE',
    type: 'text',
    default: 'client_credentials',
    meaning: 'Of the OAuth call.',
  },
  gatewayScope: {
    name: 'API_GATEWAY_SCOPE',
    type: 'text',
    default: null,
    meaning: 'Of the OAuth call. None: not sent.',
  },
  gatewayTimeoutMs: {
    name: 'API_GATEWAY_TIMEOUT_SECONDS',
    type: 'seconds',
    default: '30',
    range: [1, 600],
    meaning: 'After it deployments go on without the token.',
  },
  callbackUrl: {
    name: 'AA_URL_CALLBACK',
    type: 'url',
    default: null,
    meaning:
      'Where the Control Room reports the end of a run. It must be on the Control Room’s list of allowed addresses. None: only the reconciler learns of ends.',
  },
  callbackToken: {
    name: 'CALLBACK_TOKEN',
    type: 'secret',
    default: null,
    meaning: 'The key that a callback must bring. Needed with AA_URL_CALLBACK.',
  },
  callbackHost: {
    name: 'CALLBACK_SERVER_HOST',
    type: 'text',
    default: '0.0.0.0',
    meaning: 'Where callbacks are taken.',
  },
  callbackPort: {
    name: 'CALLBACK_SERVER_PORT',
    type: 'port',
    default: '8008',
    meaning: 'Where callbacks are taken.',
  },
  callbackPath: {
    name: 'CALLBACK_ENDPOINT_PATH',
    type: 'text',
    default: '/api/callback',
    meaning: 'Where callbacks are taken.',
  },
} as const satisfies Variables;
