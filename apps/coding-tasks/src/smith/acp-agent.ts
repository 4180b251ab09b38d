import type { ChildProcess } from 'node:child_process';
import { Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';
import { describeEnd, runCommand } from '../performer/command.ts';
import { type Agent, AgentFailed, type Answer, type Turn, type TurnControl } from './agent.ts';
import type { CommandAgentOptions } from './command-agent.ts';
import type { Help } from './presets.ts';
import { silenceWatch } from './silence-watch.ts';

/** Commands that speak the Agent Client Protocol over their standard streams. None was run here. */
export const acpCommands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'gemini-acp': ['gemini', '--acp'],
  'opencode-acp': ['opencode', 'acp'],
  'claude-acp': ['claude-agent-acp'],
  'codex-acp': ['codex-acp'],
};

/** What their own help must name for these commands to work. */
export const acpHelps: Readonly<Record<string, readonly Help[]>> = {
  'gemini-acp': [{ args: ['--help'], words: ['--acp'] }],
  'opencode-acp': [{ args: ['--help'], words: ['acp'] }],
};

export interface AcpAgentOptions extends CommandAgentOptions {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
}

const defaultTimeLimitMs = 4 * 3_600_000;
const keptErrorChars = 4_000;
const maxStatusChars = 200;

/** An agent that is spoken to by the Agent Client Protocol: one process and one prompt a turn. */
export function createAcpAgent(options: AcpAgentOptions): Agent {
  return { name: options.name, turn: (turn, control) => runTurn(options, turn, control) };
}

async function runTurn(
  options: AcpAgentOptions,
  turn: Turn,
  control: TurnControl,
): Promise<Answer> {
  const said = new AbortController();
  const output = new OutputStream();
  let errors = '';
  let conversation: Promise<Answer> | null = null;
  const silence = silenceWatch(options.clock, options.silenceMs);
  const ended = await runCommand(
    {
      argv: [...options.argv, ...(options.extraArgs ?? [])],
      folder: turn.folder,
      environment: { ...options.environment, ...turn.marks },
    },
    {
      clock: options.clock,
      // The agent waits for further prompts: it is ended when it has answered.
      signal: AbortSignal.any([control.signal, said.signal, silence.signal]),
      timeLimitMs: options.timeLimitMs ?? defaultTimeLimitMs,
      ...(options.graceMs === undefined ? {} : { graceMs: options.graceMs }),
      onOutput(text, stream) {
        silence.heard();
        if (stream === 'out') output.push(text);
        else errors = (errors + text).slice(-keptErrorChars);
      },
      onStart(child) {
        conversation = converse(child, output.stream, turn, control).finally(() => said.abort());
        // Whoever awaits it comes later, after the process.
        conversation.catch(() => undefined);
      },
    },
  );
  silence.stop();
  output.end();
  if (conversation === null) throw new AgentFailed(`${options.name} ${describeEnd(ended)}`, true);
  if (silence.signal.aborted)
    throw new AgentFailed(`${options.name} wrote nothing for ${options.silenceMs} ms`, true);
  if (control.signal.aborted) throw new AgentFailed(`${options.name} was cancelled`, true);
  try {
    return await conversation;
  } catch (error) {
    if (error instanceof AgentFailed) throw error;
    const words = [describeEnd(ended), errors.trim(), wordsOf(error)].filter((word) => word !== '');
    throw new AgentFailed(`${options.name} ${words.join(': ')}`, true, { cause: error });
  }
}

async function converse(
  child: ChildProcess,
  output: ReadableStream<Uint8Array>,
  turn: Turn,
  control: TurnControl,
): Promise<Answer> {
  if (child.stdin === null) throw new AgentFailed('the agent has no input', true);
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), output);
  const listener = new UpdateListener(control);
  const app = acp
    .client({ name: 'capataz-coding' })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) =>
      permission(params, turn),
    )
    .onNotification(acp.methods.client.session.update, ({ params }) =>
      listener.take(params.update),
    );
  return app.connectWith(stream, async (agent) => {
    const { agentCapabilities } = await agent.request<acp.InitializeResponse>(
      acp.methods.agent.initialize,
      {
        protocolVersion: acp.PROTOCOL_VERSION,
        // It works on the files itself: it is on the same machine and in the same folder.
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      },
    );
    const place = { cwd: turn.folder, mcpServers: [] };
    const canLoad = agentCapabilities?.loadSession === true;
    const loaded = canLoad ? turn.session : null;
    if (loaded !== null) {
      await agent.request(acp.methods.agent.session.load, { sessionId: loaded, ...place });
    }
    const sessionId =
      loaded ??
      (await agent.request<acp.NewSessionResponse>(acp.methods.agent.session.new, place)).sessionId;
    listener.begin();
    const prompt: acp.PromptRequest = {
      sessionId,
      prompt: [{ type: 'text', text: turn.prompt }],
    };
    const { stopReason } = await agent.request<acp.PromptResponse>(
      acp.methods.agent.session.prompt,
      prompt,
    );
    if (stopReason !== 'end_turn') {
      throw new AgentFailed(`the agent stopped: ${stopReason}`, stopReason === 'cancelled');
    }
    return { text: listener.text, session: canLoad ? sessionId : null, usage: null };
  });
}

/** While it plans, an agent may look and no more; in its own worktree it may then do what it asks for. */
function permission(
  { options, toolCall }: acp.RequestPermissionRequest,
  turn: Turn,
): acp.RequestPermissionResponse {
  const looks = ['read', 'search', 'think', 'fetch'];
  const isAllowed = turn.phase !== 'plan' || looks.includes(toolCall.kind ?? '');
  const wanted = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const option = options.find(({ kind }) => wanted.includes(kind));
  if (option === undefined) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: option.optionId } };
}

/** Collects the agent's last message: what it says after its last tool call. */
class UpdateListener {
  text = '';
  readonly #control: TurnControl;
  /** While a session is loaded, its history is told again. */
  #hasBegun = false;

  constructor(control: TurnControl) {
    this.#control = control;
  }

  begin(): void {
    this.#hasBegun = true;
  }

  take(update: acp.SessionUpdate): void {
    if (!this.#hasBegun) return;
    if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text') {
      this.text += update.content.text;
      const line = this.text.trim().split('\n').at(-1) ?? '';
      if (line !== '') this.#control.say(line.slice(0, maxStatusChars));
    }
    if (update.sessionUpdate === 'tool_call') {
      this.text = '';
      this.#control.say(update.title.slice(0, maxStatusChars));
    }
  }
}

/** What the command's runner hears, as the stream that the library reads. */
class OutputStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor() {
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      // The library has hung up; what still comes is of no interest.
      cancel: () => {
        this.#controller = null;
      },
    });
  }

  push(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  end(): void {
    this.#controller?.close();
    this.#controller = null;
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
