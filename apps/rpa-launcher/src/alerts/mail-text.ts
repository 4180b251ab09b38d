import { wallTime } from '../service/wall-time.ts';
import type { AlertMark, AlertPolicy, Facts } from './contract.ts';

export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The mail about an alert. Times are those of `zone`. */
export function alertMail(mark: AlertMark, policy: AlertPolicy, zone: string): Mail {
  const { level, scope, nature, title, actions } = policy;
  return compose(`[${level} ${scope} ${nature}] ${title}: ${mark.key}`, mark.message, {
    facts: {
      ...mark.facts,
      'First seen': wallTime(mark.firstRaisedAt, zone),
      'Last seen': wallTime(mark.lastRaisedAt, zone),
      Times: mark.count,
    },
    actions,
    note: noteOf(policy),
  });
}

export function recoveryMail(
  mark: AlertMark,
  { level, scope, title }: AlertPolicy,
  { facts, now, zone }: { readonly facts: Facts; readonly now: number; readonly zone: string },
): Mail {
  return compose(`[${level} ${scope} RECUPERACIÓN] ${title}: ${mark.key}`, 'It is over.', {
    facts: {
      ...facts,
      'First seen': wallTime(mark.firstRaisedAt, zone),
      'Over since': wallTime(now, zone),
      Times: mark.count,
    },
    actions: [],
    note: '',
  });
}

export function capMail(maxPerHour: number): Mail {
  return compose(
    '[ALTO SISTEMA UMBRAL] More alerts wait',
    `${maxPerHour} alerts were mailed within an hour. More follow as the hour passes; the log has all of them.`,
    { facts: {}, actions: [], note: '' },
  );
}

function noteOf({ repeatMs, tellsRecovery }: AlertPolicy): string {
  const again =
    repeatMs === null
      ? 'This is not mailed again until it is over.'
      : `While it lasts, this is mailed again after ${Math.round(repeatMs / 60_000)} minutes.`;
  return tellsRecovery === true ? `${again} A mail tells when it is over.` : again;
}

interface Parts {
  readonly facts: Facts;
  readonly actions: readonly string[];
  readonly note: string;
}

function compose(subject: string, message: string, { facts, actions, note }: Parts): Mail {
  const rows = Object.entries(facts).map(([name, value]) => [name, String(value ?? '')] as const);
  const text = [
    message,
    rows.map(([name, value]) => `${name}: ${value}`).join('\n'),
    actions.map((action, index) => `${index + 1}. ${action}`).join('\n'),
    note,
  ];
  const html = [
    `<p>${escapeHtml(message)}</p>`,
    rows.length === 0 ? '' : `<table border="1" cellpadding="4">${rows.map(row).join('')}</table>`,
    actions.length === 0
      ? ''
      : `<ol>${actions.map((action) => `<li>${escapeHtml(action)}</li>`).join('')}</ol>`,
    note === '' ? '' : `<p><small>${escapeHtml(note)}</small></p>`,
  ];
  return {
    // Whatever a key holds, a subject is one line.
    subject: subject.replaceAll(/[\r\n]+/g, ' '),
    text: `${text.filter((part) => part !== '').join('\n\n')}\n`,
    html: html.join(''),
  };
}

function row([name, value]: readonly [string, string]): string {
  return `<tr><th align="left">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
