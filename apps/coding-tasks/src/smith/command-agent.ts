import { lstatSync, readFileSync } from 'node:fs';
import type { Clock } from 'capataz/server';
import { describeEnd, type Ended, runCommand } from '../performer/command.ts';
import { type Agent, AgentFailed, type Answer, type Turn, type TurnControl } from './agent.ts';
import type { Dialect, Said } from './dialects.ts';
import { silenceWatch } from './silence-watch.ts';

/**
 * How an agent is called. In arguments `{phase}`, `{prompt}`, `{session}`, `{folder}` and
 * `{answerFile}` are filled in; the argument `{resume}` stands for those of `resume`, or for none in a new session.
 */
export interface CommandTemplate {
  readonly name: string;
  readonly program: string;
  readonly args: Readonly<Record<'plan' | 'code', readonly string[]>>;
  readonly resume: readonly string[];
  /** Where the prompt goes; as an argument it is at most 120,000 bytes long. */
  readonly prompt: 'input' | 'argument';
  readonly dialect: () => Dialect;
}

export interface CommandAgentOptions {
  readonly clock: Clock;
  /** The agent's whole environment: PATH, HOME, and the keys it wants. */
  readonly environment: Readonly<Record<string, string>>;
  /** Added behind the template's own, in every phase: a model, a budget, permissions. */
  readonly extraArgs?: readonly string[];
  /** Longest turn. Default 4 h. */
  readonly timeLimitMs?: number;
  /** An agent that writes nothing for so long is ended. Default: never. */
  readonly silenceMs?: number;
  /** Between SIGTERM and SIGKILL. Default 5 s. */
  readonly graceMs?: number;
}

/** Linux takes no single argument of 128 KiB. */
const maxArgumentBytes = 120_000;
const defaultTimeLimitMs = 4 * 3_600_000;
/** Enough for the last message of an agent that ran for hours, and a bound for one that went mad. */
const maxOutputBytes = 256 * 1024 * 1024;
const maxAnswerBytes = 16 * 1024 * 1024;
const keptErrorChars = 4_000;
const maxStatusChars = 200;

/** Any agent that can be started as a command, does its work in the current folder, and ends. */
export function createCommandAgent(template: CommandTemplate, options: CommandAgentOptions): Agent {
  return {
    name: template.name,
    turn: (turn, control) => runTurn(template, options, turn, control),
  };
}

async function runTurn(
  template: CommandTemplate,
  options: CommandAgentOptions,
  turn: Turn,
  control: TurnControl,
): Promise<Answer> {
  const listener = new Listener(template.dialect(), control);
  const silence = silenceWatch(options.clock, options.silenceMs);
  const signal = AbortSignal.any([control.signal, silence.signal]);
  const ended = await runCommand(
    {
      argv: [template.program, ...argumentsOf(template, options, turn)],
      folder: turn.folder,
      environment: { ...options.environment, ...turn.marks },
      input: template.prompt === 'input' ? turn.prompt : '',
    },
    {
      clock: options.clock,
      signal,
      timeLimitMs: options.timeLimitMs ?? defaultTimeLimitMs,
      outputLimit: maxOutputBytes,
      ...(options.graceMs === undefined ? {} : { graceMs: options.graceMs }),
      onOutput: (text, stream) => {
        silence.heard();
        listener.take(text, stream);
      },
    },
  );
  silence.stop();
  if (silence.signal.aborted) {
    throw new AgentFailed(`${template.name} wrote nothing for ${options.silenceMs} ms`, true);
  }
  return answerOf(template.name, ended, listener.end(), turn);
}

function argumentsOf(
  template: CommandTemplate,
  { extraArgs = [] }: CommandAgentOptions,
  turn: Turn,
): string[] {
  const phase = turn.phase === 'plan' ? 'plan' : 'code';
  const resume = turn.session === null ? [] : template.resume;
  if (template.prompt === 'argument' && Buffer.byteLength(turn.prompt) > maxArgumentBytes) {
    throw new AgentFailed(
      `${template.name} takes its prompt as an argument, of at most ${maxArgumentBytes} bytes`,
      false,
    );
  }
  const values: Readonly<Record<string, string>> = {
    phase: turn.phase,
    prompt: turn.prompt,
    session: turn.session ?? '',
    folder: turn.folder,
    answerFile: turn.answerFile,
  };
  return [...template.args[phase], ...extraArgs]
    .flatMap((arg) => (arg === '{resume}' ? resume : [arg]))
    .map((arg) => arg.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole));
}

/** Reads what an agent writes, line by line or whole. */
class Listener {
  readonly #dialect: Dialect;
  readonly #control: TurnControl;
  #rest = '';
  #said: Said = {};
  #errors = '';

  constructor(dialect: Dialect, control: TurnControl) {
    this.#dialect = dialect;
    this.#control = control;
  }

  take(text: string, stream: 'out' | 'error'): void {
    if (stream === 'error') {
      this.#errors = (this.#errors + text).slice(-keptErrorChars);
      return;
    }
    this.#rest += text;
    if (this.#dialect.kind === 'whole') return;
    if (this.#dialect.kind === 'text') {
      const line = text.trim().split('\n').at(-1) ?? '';
      if (line !== '') this.#control.say(line.slice(0, maxStatusChars));
      return;
    }
    // A line may be very long, and is looked at once it is whole.
    if (!text.includes('\n')) return;
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#read(line, this.#dialect.read);
  }

  /** @returns all that was said, and the end of what went to standard error. */
  end(): { readonly said: Said; readonly errors: string } {
    if (this.#dialect.kind === 'text') this.#said = { text: this.#rest.trim() };
    else this.#read(this.#rest, this.#dialect.read);
    return { said: this.#said, errors: this.#errors.trim() };
  }

  #read(line: string, read: (value: unknown) => Said): void {
    const said = parsed(line, read);
    this.#said = { ...this.#said, ...said };
    if (said.status !== undefined && said.status !== '') {
      this.#control.say(said.status.slice(0, maxStatusChars));
    }
  }
}

function parsed(line: string, read: (value: unknown) => Said): Said {
  // Warnings stand between the lines of more than one agent, or before the one object.
  const start = line.indexOf('{');
  if (start === -1) return {};
  try {
    return read(JSON.parse(line.slice(start)));
  } catch {
    return {};
  }
}

function answerOf(
  name: string,
  ended: Ended,
  { said, errors }: ReturnType<Listener['end']>,
  turn: Turn,
): Answer {
  if (ended.how === 'not_started') throw new AgentFailed(`${name} ${describeEnd(ended)}`, true);
  if (ended.how === 'cancelled') throw new AgentFailed(`${name} was cancelled`, true);
  if (said.error !== undefined) throw new AgentFailed(`${name}: ${said.error}`, false);
  if (ended.how !== 'exited' || ended.code !== 0) {
    const words = errors || said.text || 'it said nothing';
    throw new AgentFailed(`${name} ${describeEnd(ended)}: ${words}`, ended.how === 'killed');
  }
  return {
    text: answerFileOf(turn) ?? said.text ?? '',
    session: said.session ?? turn.session,
    usage: said.usage ?? null,
  };
}

function answerFileOf({ answerFile }: Turn): string | null {
  try {
    // A pipe would be waited for for ever, and what is too large is no answer.
    const entry = lstatSync(answerFile);
    if (!entry.isFile() || entry.size > maxAnswerBytes) return null;
    return readFileSync(answerFile, 'utf8').trim() || null;
  } catch {
    return null;
  }
}
