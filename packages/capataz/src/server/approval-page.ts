import type { JsonValue } from '../std/json.ts';
import { escaped, secretPageHeaders } from './html.ts';

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem; border: 1px solid #8888; border-radius: 4px; font: 14px/1.4 ui-monospace, monospace; }
label { display: block; margin: .8rem 0; }
input, textarea { display: block; box-sizing: border-box; width: 100%; font: inherit; padding: .3rem; }
button { font: inherit; padding: .4rem 1rem; margin: 0 .6rem .6rem 0; }
footer { margin-top: 2rem; font-size: .85rem; opacity: .8; }
`;

export const approvalPageHeaders = secretPageHeaders(style);

export interface ApprovalQuestion {
  readonly jobId: string;
  readonly blueprint: string;
  readonly message: string;
  readonly show: JsonValue;
  readonly decisions: readonly string[];
}

/** What is asked, and a button for each decision. The form goes to the page's own address. */
export function questionPage(question: ApprovalQuestion): string {
  const { message, show, decisions } = question;
  const buttons = decisions.map(
    (decision) =>
      `<button name="decision" value="${escaped(decision)}">${escaped(decision)}</button>`,
  );
  return page('A decision is asked for', [
    `<p dir="auto">${escaped(message)}</p>`,
    ...(show === null ? [] : [`<pre dir="auto">${escaped(contentText(show))}</pre>`]),
    '<form method="post">',
    '<label>Your name <input name="approver" maxlength="200" autocomplete="name" required></label>',
    '<label>Comment <textarea name="comment" maxlength="10000" rows="3"></textarea></label>',
    ...buttons,
    '</form>',
    `<footer>Job ${escaped(question.jobId)} (${escaped(question.blueprint)})</footer>`,
  ]);
}

/** One sentence, and what follows from it. */
export function noticePage(title: string, sentence: string): string {
  return page(title, [`<p dir="auto">${escaped(sentence)}</p>`]);
}

function page(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
<h1>${escaped(title)}</h1>
${parts.join('\n')}
</html>
`;
}

function contentText(show: JsonValue): string {
  return typeof show === 'string' ? show : JSON.stringify(show, null, 2);
}
