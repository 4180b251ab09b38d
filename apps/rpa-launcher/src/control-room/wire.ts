/** What the Control Room answers, as far as it is used. Ids are texts in some lists, numbers in others. */
import { oneLine } from 'capataz/server';
import { z } from 'zod';
import type { Activity, Device, RobotFile, User } from './contract.ts';

const id = z
  .union([z.number(), z.string().regex(/^\d+$/)])
  .transform(Number)
  .refine(Number.isSafeInteger);
/** Without zeros and other controls, which tables and terminals do not take. */
const text = z
  .string()
  .transform((said) => oneLine(said).trim())
  .pipe(z.string().min(1));
const optionalText = text.nullish().catch(null);
const optionalId = id.nullish().catch(null);

export const pageSchema = z.object({
  list: z.array(z.unknown()),
  page: z.object({ totalFilter: z.coerce.number().optional() }).nullish(),
});

export const robotSchema = z
  .object({ id, name: text, description: optionalText, path: text.catch('') })
  .transform(
    (file): RobotFile => ({
      robotId: file.id,
      name: file.name,
      description: file.description ?? null,
      path: file.path,
    }),
  );

export const deviceSchema = z
  .object({
    id,
    hostName: text,
    status: text.catch('UNKNOWN'),
    defaultUsers: z.array(z.object({ id })).nullish().catch(null),
  })
  .transform(
    (device): Device => ({
      deviceId: device.id,
      hostName: device.hostName,
      status: device.status,
      isConnected: device.status.toUpperCase() === 'CONNECTED',
      defaultUserIds: (device.defaultUsers ?? []).map((user) => user.id),
    }),
  );

export const userSchema = z
  .object({
    id,
    username: text,
    licenseFeatures: z.array(z.string()).nullish().catch(null),
    disabled: z.boolean().nullish().catch(null),
    deleted: z.boolean().nullish().catch(null),
  })
  .transform(
    (user): User => ({
      userId: user.id,
      userName: user.username,
      licenses: user.licenseFeatures ?? [],
      isDisabled: user.disabled === true || user.deleted === true,
    }),
  );

export const activitySchema = z
  .object({
    id: z.coerce.string(),
    deploymentId: optionalText,
    automationName: optionalText,
    // A run without a state is a run all the same.
    status: text.catch('NOT TOLD'),
    fileId: optionalId,
    deviceId: optionalId,
    userId: optionalId,
    startDateTime: optionalText,
    endDateTime: optionalText,
    message: optionalText,
  })
  .transform(
    (item): Activity => ({
      activityId: item.id,
      deploymentId: item.deploymentId ?? null,
      automationName: item.automationName ?? null,
      status: item.status.toUpperCase(),
      robotId: item.fileId ?? null,
      deviceId: item.deviceId ?? null,
      userId: item.userId ?? null,
      startedAt: instantOf(item.startDateTime),
      endedAt: instantOf(item.endDateTime),
      message: item.message ?? null,
    }),
  );

/** 1971: what is before it says "not set". */
const firstInstant = Date.UTC(1971, 0, 1);

/** UTC with up to nine digits behind the second; without a zone it is UTC, too. */
export function instantOf(text: string | null | undefined): number | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/.exec(
    text ?? '',
  );
  if (match === null) return null;
  const [, second = '', fraction = '0', zone = 'Z'] = match;
  const instant = Date.parse(`${second}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  return Number.isNaN(instant) || instant < firstInstant ? null : instant;
}

export type Filter =
  | { readonly operator: 'and' | 'or'; readonly operands: readonly Filter[] }
  | { readonly operator: 'eq' | 'substring'; readonly field: string; readonly value: string };

export const eq = (field: string, value: string | number): Filter => ({
  operator: 'eq',
  field,
  value: String(value),
});
