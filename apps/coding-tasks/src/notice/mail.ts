import { oneLine } from 'capataz/server';
import { createTransport } from 'nodemailer';
import { objectText } from '../cli/task-text.ts';
import { applicationName } from '../contract/envelope.ts';
import type { Channel, Notice } from './notice.ts';

export interface MailSettings {
  readonly smtpUrl: string;
  readonly to: readonly string[];
  readonly from: string;
}

const maxSubjectChars = 120;
const timeoutMs = 20_000;

export function mailChannel({ smtpUrl, to, from }: MailSettings): Channel {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // What agents write must not make this process read files or fetch addresses.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async (notice, { id }) => {
    await transport.sendMail({
      from,
      to: [...to],
      subject: `A plan waits: ${oneLine(notice.prompt)}`.slice(0, maxSubjectChars),
      // The same mail again is told from another by it.
      messageId: `<${id}@${applicationName}>`,
      text: textOf(notice),
    });
  };
}

function textOf({
  taskId,
  usuario,
  repositorioOrigen,
  prompt,
  plan,
  planId,
  hash,
}: Notice): string {
  return `Task ${taskId} of ${usuario}, for ${oneLine(repositorioOrigen)}:

${prompt}

Its plan waits for approval.

${objectText(plan)}

plan ${oneLine(planId)}, hash ${hash}

  ${applicationName} task show ${taskId}
  ${applicationName} task approve ${taskId} --hash ${hash}
  ${applicationName} task reject ${taskId} --hash ${hash} --comment '…'
`;
}
