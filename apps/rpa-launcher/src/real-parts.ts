/** What the launcher is made of where nothing stands in for it: settings, Control Room, gateway, mail. */
import { join } from 'node:path';
import type { Clock, Log } from 'capataz/server';
import { createAlerts } from './alerts/alerts.ts';
import type { AlertMarks, Alerts } from './alerts/contract.ts';
import { createMailer } from './alerts/mailer.ts';
import { policiesOf } from './alerts/policies.ts';
import { readEnvFile } from './config/env-file.ts';
import {
  databaseSource,
  type EffectiveSettings,
  mergeSettings,
  type SettingSource,
} from './config/merge.ts';
import { secretsOf } from './config/secrets.ts';
import type { LauncherSettings } from './config/settings.ts';
import { createControlRoom } from './control-room/client.ts';
import type { ControlRoom } from './control-room/contract.ts';
import { createApiGateway } from './control-room/gateway.ts';
import { httpTransport } from './control-room/transport.ts';

interface World {
  readonly clock: Clock;
  readonly log: Log;
}

export interface SettingPlaces {
  /** Of the process. */
  readonly environment: SettingSource;
  /** Where `.env` lies, unless a file is named. */
  readonly directory: string;
  /** Null: `.env`, if there is one. */
  readonly envFile: string | null;
  /** Rows of `ConfiguracionSistema`; none before the tables are open. */
  readonly stored?: Readonly<Record<string, string>>;
}

/** Database before environment before file before default. @throws CapatazError CONFIG_INVALID */
export function effectiveSettings(places: SettingPlaces): EffectiveSettings {
  return mergeSettings(sourcesOf(places));
}

/** @throws CapatazError CONFIG_INVALID for a file that can't be read */
export function sourcesOf({
  environment,
  directory,
  envFile,
  stored = {},
}: SettingPlaces): SettingSource[] {
  const path = envFile ?? join(directory, '.env');
  return [databaseSource(stored), environment, readEnvFile(path, { isNamed: envFile !== null })];
}

export function controlRoomOf(settings: LauncherSettings, { clock, log }: World): ControlRoom {
  const { verifiesTls, maxWorkers } = settings;
  if (!verifiesTls)
    log.warn('AA_VERIFY_SSL is off: whoever stands between sees and changes what is sent');
  return createControlRoom({
    url: settings.controlRoomUrl,
    credentials: {
      user: settings.controlRoomUser,
      apiKey: settings.controlRoomApiKey,
      password: settings.controlRoomPassword,
      allowsMultipleLogin: settings.allowsMultipleLogin,
    },
    // Deploy calls that are slow must not keep the other cycles from their calls.
    transport: httpTransport({ clock, verifiesTls, connections: maxWorkers + 8 }),
    clock,
    log: log.child({ module: 'lanzador.aa_client' }),
    timeoutMs: settings.apiTimeoutMs,
    tokenRefreshMs: settings.tokenRefreshMs,
    maxRequestsPerSecond: settings.maxRequestsPerSecond,
    pageSize: settings.pageSize,
    maxPages: settings.maxPages,
    batchSize: settings.reconcileBatchSize,
    robots: {
      path: settings.robotPath,
      names: settings.robotNames,
      leftOut: settings.robotNamesLeftOut,
    },
    secrets: secretsOf(settings),
  });
}

/** Headers with the gateway's token; none where there is no gateway. Never throws. */
export function gatewayHeadersOf(
  settings: LauncherSettings,
  { clock, log }: World,
): () => Promise<Readonly<Record<string, string>>> {
  const {
    gatewayUrl: url,
    gatewayClientId: clientId,
    gatewayClientSecret: clientSecret,
  } = settings;
  if (url === null || clientId === null || clientSecret === null) return async () => ({});
  const gateway = createApiGateway({
    ...{ url, clientId, clientSecret, clock },
    grantType: settings.gatewayGrantType,
    scope: settings.gatewayScope,
    timeoutMs: settings.gatewayTimeoutMs,
    transport: httpTransport({ clock, connections: 1 }),
    log: log.child({ module: 'lanzador.gateway_client' }),
  });
  return () => gateway.headers();
}

export function alertsOf(
  settings: LauncherSettings,
  marks: AlertMarks,
  { clock, log }: World,
): Alerts {
  const own = log.child({ module: 'lanzador.alertas' });
  return createAlerts({
    policies: policiesOf(settings),
    marks,
    mailer: createMailer(settings, own),
    clock,
    log: own,
    zone: settings.zone,
    maxMailsPerHour: settings.maxMailsPerHour,
  });
}
