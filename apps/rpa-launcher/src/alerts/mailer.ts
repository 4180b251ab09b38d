import type { Log } from 'capataz/server';
import { createTransport } from 'nodemailer';
import type { LauncherSettings } from '../config/settings.ts';
import type { Mail } from './mail-text.ts';

export interface Mailer {
  /** @throws when it was not accepted for anybody */
  send(mail: Mail): Promise<void>;
  close(): void;
}

export type MailSettings = Pick<
  LauncherSettings,
  'smtpServer' | 'smtpPort' | 'mailFrom' | 'mailTo' | 'smtpUsesTls' | 'smtpUser' | 'smtpPassword'
>;

const timeoutMs = 20_000;

/** @returns null where mail is not set up */
export function createMailer(settings: MailSettings, log: Log): Mailer | null {
  const { smtpServer: host, smtpPort: port, mailFrom: from, mailTo: to, smtpUser } = settings;
  if (host === null || from === null || to === null) return null;
  const begunWithTls = port === 465;
  const transporter = createTransport({
    host,
    port,
    secure: begunWithTls,
    requireTLS: settings.smtpUsesTls && !begunWithTls,
    ignoreTLS: !settings.smtpUsesTls,
    ...(smtpUser === null ? {} : { auth: { user: smtpUser, pass: settings.smtpPassword ?? '' } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  });
  return {
    async send(mail) {
      const { rejected } = await transporter.sendMail({ from, to: [...to], ...mail });
      if (rejected.length > 0) log.warn('the mail server refused recipients', { rejected });
    },
    close: () => transporter.close(),
  };
}
