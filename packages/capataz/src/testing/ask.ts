import type { JsonValue } from '../std/json.ts';

export interface AskOptions {
  readonly body?: JsonValue;
  /** Sent as it is, as application/json. */
  readonly rawBody?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body, null where it is no JSON. */
  readonly json: JsonValue;
}

/** One HTTP request of a test: `ask(url, 'GET /api/v1/jobs')`. */
export async function ask(url: string, route: string, options: AskOptions = {}): Promise<Asked> {
  const [method = '', path = ''] = route.split(' ');
  const text =
    options.rawBody ?? (options.body === undefined ? null : JSON.stringify(options.body));
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(text === null ? {} : { 'Content-Type': 'application/json' }),
      ...options.headers,
    },
    body: text,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const answer = await response.text();
  return { status: response.status, headers: response.headers, text: answer, json: parsed(answer) };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
