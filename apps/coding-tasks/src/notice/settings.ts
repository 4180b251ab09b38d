import { CapatazError } from 'capataz';
import type { SettingDeclarations, SettingValues } from 'capataz/server';
import { listOf } from '../words.ts';
import { mailChannel } from './mail.ts';
import type { Channel } from './notice.ts';
import { webhookChannel } from './webhook.ts';

export const noticeSettings = {
  noticeWebhook: {
    type: 'url',
    default: null,
    meaning:
      'Where it is posted, as JSON, that a plan waits for its person. Tried again for about two hours. Default: nowhere.',
  },
  noticeWebhookKey: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'With it each post is signed: `x-capataz-signature: sha256=` and the HMAC-SHA256 of the body in hex. Default: no signature.',
  },
  noticeMailTo: {
    type: 'string',
    default: null,
    meaning:
      'Addresses of those who are told by mail that a plan waits, with commas between; goes with `smtp_url`. Default: no mail.',
  },
  noticeMailFrom: {
    type: 'string',
    default: 'capataz-coding@localhost',
    meaning: 'Sender of these mails.',
  },
  smtpUrl: {
    type: 'string',
    default: null,
    secret: true,
    meaning: 'The mail server: `smtp://user:password@host:587`, or `smtps://…`. Default: no mail.',
  },
} as const satisfies SettingDeclarations;

/** @throws CapatazError CONFIG_INVALID */
export function noticeChannels(
  values: SettingValues<typeof noticeSettings>,
): ReadonlyMap<string, Channel> {
  const { noticeWebhook: url, noticeWebhookKey: key, noticeMailTo, noticeMailFrom: from } = values;
  const channels = new Map<string, Channel>();
  if (url !== null) channels.set('webhook', webhookChannel({ url, key }));
  const to = listOf(noticeMailTo ?? '');
  if (to.length === 0) return channels;
  const { smtpUrl } = values;
  if (smtpUrl === null || !/^smtps?:\/\/[^/]/.test(smtpUrl) || !URL.canParse(smtpUrl)) {
    const problem = smtpUrl === null ? 'is missing' : 'must begin with smtp:// or smtps://';
    throw new CapatazError('CONFIG_INVALID', `smtp_url: ${problem}; notice_mail_to needs it`);
  }
  return channels.set('mail', mailChannel({ smtpUrl, to, from }));
}
