import type { Usage } from './agent.ts';

/** What one line of an agent's output says. Everything is optional: most lines say little. */
export interface Said {
  readonly session?: string;
  /** The last word so far; a later one replaces it. */
  readonly text?: string;
  /** For people who watch. */
  readonly status?: string;
  readonly usage?: Usage;
  readonly error?: string;
}

/**
 * How an agent speaks. `whole` reads all of its output at its end (one JSON object, or plain text),
 * `lines` one JSON value a line as it comes. What is not understood is passed over: agents add events
 * with every release.
 */
export type Dialect =
  | { readonly kind: 'text' }
  | { readonly kind: 'whole'; readonly read: (value: unknown) => Said }
  | { readonly kind: 'lines'; readonly read: (value: unknown) => Said };

type Fields = Readonly<Record<string, unknown>>;

/** Claude Code, `--output-format stream-json --verbose`: init, messages, and a `result` at the end. */
export const claudeLines: Dialect = {
  kind: 'lines',
  read(value) {
    const line = fields(value);
    const session = text(line.session_id);
    if (line.type === 'assistant')
      return { ...sessionSaid(session), ...claudeStatus(line.message) };
    if (line.type !== 'result') return sessionSaid(session);
    const usage = fields(line.usage);
    const said = {
      ...sessionSaid(session),
      usage: {
        costUsd: number(line.total_cost_usd),
        inputTokens: sum(
          usage.input_tokens,
          usage.cache_creation_input_tokens,
          usage.cache_read_input_tokens,
        ),
        outputTokens: number(usage.output_tokens),
      },
    };
    const result = text(line.result) ?? '';
    if (line.is_error === true) return { ...said, error: result || String(line.subtype) };
    return { ...said, text: result };
  },
};

function claudeStatus(message: unknown): Said {
  const parts = fields(message).content;
  for (const part of Array.isArray(parts) ? parts.map(fields) : []) {
    if (part.type === 'tool_use') return { status: `uses ${text(part.name) ?? 'a tool'}` };
    if (part.type === 'text') return { status: text(part.text) ?? '' };
  }
  return {};
}

/** Codex, `codex exec --json`: thread.started, item.…, turn.completed or turn.failed. */
export const codexLines: Dialect = {
  kind: 'lines',
  read(value) {
    const line = fields(value);
    if (line.type === 'thread.started') return sessionSaid(text(line.thread_id));
    if (line.type === 'turn.completed') {
      const usage = fields(line.usage);
      return {
        usage: {
          costUsd: null,
          inputTokens: number(usage.input_tokens),
          outputTokens: number(usage.output_tokens),
        },
      };
    }
    if (line.type === 'turn.failed')
      return { error: text(fields(line.error).message) ?? 'the turn failed' };
    const item = fields(line.item);
    if (item.type === 'agent_message') {
      const message = text(item.text) ?? '';
      return line.type === 'item.completed' ? { text: message, status: message } : {};
    }
    if (item.type === 'command_execution') return { status: `runs ${text(item.command) ?? ''}` };
    return item.type === undefined ? {} : { status: String(item.type) };
  },
};

/** Gemini CLI (and Qwen Code), `-o json`: one object with response, stats and perhaps error. */
export const geminiWhole: Dialect = {
  kind: 'whole',
  read(value) {
    const whole = fields(value);
    const error = fields(whole.error);
    if (whole.error !== undefined && whole.error !== null)
      return { error: text(error.message) ?? 'an error' };
    const models = Object.values(fields(fields(whole.stats).models)).map((model) =>
      fields(fields(model).tokens),
    );
    return {
      ...sessionSaid(text(whole.session_id)),
      text: text(whole.response) ?? '',
      usage: {
        costUsd: null,
        inputTokens: sum(...models.map(({ prompt }) => prompt)),
        outputTokens: sum(...models.map(({ candidates }) => candidates)),
      },
    };
  },
};

/** opencode, `run --format json`: events with a `part`. Each step says what it has cost. */
export function opencodeLines(): Dialect {
  let usage: Usage = { costUsd: 0, inputTokens: 0, outputTokens: 0 };
  return {
    kind: 'lines',
    read(value) {
      const line = fields(value);
      const part = fields(line.part);
      const session = sessionSaid(text(line.sessionID) ?? text(part.sessionID));
      if (line.type === 'error') return { ...session, error: JSON.stringify(line.error ?? line) };
      if (line.type === 'text') {
        return { ...session, text: text(part.text) ?? '', status: text(part.text) ?? '' };
      }
      if (line.type === 'tool_use') return { ...session, status: `uses ${text(part.tool) ?? ''}` };
      if (line.type !== 'step_finish') return session;
      const tokens = fields(part.tokens);
      usage = {
        costUsd: sum(usage.costUsd, part.cost),
        inputTokens: sum(usage.inputTokens, tokens.input),
        outputTokens: sum(usage.outputTokens, tokens.output),
      };
      return { ...session, usage };
    },
  };
}

/** Ours, for agents that have none: `{"session"?, "text"?, "status"?, "usage"?, "error"?}` a line. */
export const plainLines: Dialect = {
  kind: 'lines',
  read(value) {
    const line = fields(value);
    const usage = fields(line.usage);
    const status = text(line.status);
    const error = text(line.error);
    const words = text(line.text);
    return {
      ...sessionSaid(text(line.session)),
      ...(words === undefined ? {} : { text: words }),
      ...(status === undefined ? {} : { status }),
      ...(error === undefined ? {} : { error }),
      ...(line.usage === undefined
        ? {}
        : {
            usage: {
              costUsd: number(usage.costUsd),
              inputTokens: number(usage.inputTokens),
              outputTokens: number(usage.outputTokens),
            },
          }),
    };
  },
};

function sessionSaid(session: string | undefined): Said {
  return session === undefined ? {} : { session };
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

function sum(...values: readonly unknown[]): number | null {
  const known = values.map(number).filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
