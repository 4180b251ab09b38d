import type { CommandTemplate } from './command-agent.ts';
import { claudeLines, codexLines, geminiWhole, opencodeLines, plainLines } from './dialects.ts';

/** Arguments that print a help, and the words that it must contain. */
export interface Help {
  readonly args: readonly string[];
  readonly words: readonly string[];
}

/**
 * A template for an agent that people use, and what its `--help` must name for it to fit.
 * None of them has been run here against its model: flags and forms of output are taken from each
 * tool's help and documentation, and tests use fakes of their dialects. `checkAgent` compares the
 * flags with the installed version.
 */
export interface Preset {
  readonly template: CommandTemplate;
  readonly helps: readonly Help[];
  readonly notes: string;
}

const claude: Preset = {
  template: {
    name: 'claude',
    program: 'claude',
    args: {
      plan: claudeArgs('plan'),
      // Commands need a permission of their own: `extraArgs`, `--allowedTools`.
      code: claudeArgs('acceptEdits'),
    },
    resume: ['--resume', '{session}'],
    prompt: 'input',
    dialect: () => claudeLines,
  },
  helps: [
    {
      args: ['--help'],
      words: [
        '--print',
        '--output-format',
        'stream-json',
        '--verbose',
        '--permission-mode',
        '--resume',
      ],
    },
  ],
  notes: 'Claude Code. Not run here. Prompt on standard input; JSON lines; says cost and tokens.',
};

function claudeArgs(permissionMode: string): readonly string[] {
  return [
    ...['-p', '--output-format', 'stream-json', '--verbose'],
    ...['--permission-mode', permissionMode, '{resume}'],
  ];
}

const codex: Preset = {
  template: {
    name: 'codex',
    program: 'codex',
    args: { plan: codexArgs('read-only'), code: codexArgs('workspace-write') },
    resume: ['resume', '{session}'],
    prompt: 'input',
    dialect: () => codexLines,
  },
  helps: [
    { args: ['exec', '--help'], words: ['--json', '--output-last-message', '--config', 'resume'] },
  ],
  notes:
    'Codex CLI. Not run here. Prompt on standard input (`-`); JSON lines; says tokens. The sandbox ' +
    'is set by `-c sandbox_mode=…`, which `exec` and `exec resume` both take.',
};

function codexArgs(sandbox: string): readonly string[] {
  return [
    ...['exec', '{resume}', '--json', '--output-last-message', '{answerFile}'],
    ...['-c', `sandbox_mode="${sandbox}"`, '-'],
  ];
}

const gemini: Preset = {
  template: {
    name: 'gemini',
    program: 'gemini',
    args: {
      plan: ['--output-format', 'json', '--approval-mode', 'default', '{resume}'],
      code: ['--output-format', 'json', '--approval-mode', 'yolo', '{resume}'],
    },
    resume: ['--resume', '{session}'],
    prompt: 'input',
    dialect: () => geminiWhole,
  },
  helps: [
    { args: ['--help'], words: ['--output-format', 'json', '--approval-mode', 'yolo', '--resume'] },
  ],
  notes: 'Gemini CLI. Not run here. Prompt on standard input; one JSON object; says tokens.',
};

const qwen: Preset = {
  template: { ...gemini.template, name: 'qwen', program: 'qwen' },
  helps: gemini.helps,
  notes: "Qwen Code. Not run here. Taken to have Gemini's flags and form.",
};

const opencode: Preset = {
  template: {
    name: 'opencode',
    program: 'opencode',
    args: {
      plan: ['run', '--format', 'json', '--agent', 'plan', '{resume}', '{prompt}'],
      code: ['run', '--format', 'json', '--agent', 'build', '{resume}', '{prompt}'],
    },
    resume: ['--session', '{session}'],
    prompt: 'argument',
    dialect: opencodeLines,
  },
  helps: [{ args: ['run', '--help'], words: ['--format', '--agent', '--session'] }],
  notes: 'opencode. Not run here. JSON lines; says cost and tokens of each step.',
};

const aider: Preset = {
  template: {
    name: 'aider',
    program: 'aider',
    args: { plan: aiderArgs('ask'), code: aiderArgs('code') },
    resume: [],
    prompt: 'argument',
    dialect: () => ({ kind: 'text' }),
  },
  helps: [
    {
      args: ['--help'],
      words: [
        ...['--message', '--yes-always', '--chat-mode'],
        ...['--no-pretty', '--no-stream', '--no-check-update'],
      ],
    },
  ],
  notes: 'aider. Not run here. Plain text; no sessions: each turn is told all it must know.',
};

function aiderArgs(chatMode: string): readonly string[] {
  return [
    ...['--yes-always', '--no-pretty', '--no-stream', '--no-check-update'],
    ...['--chat-mode', chatMode, '--message', '{prompt}'],
  ];
}

/** Any other program: prompt on standard input, our own lines (`plainLines`) or none on its output. */
export function customTemplate(
  argv: readonly [string, ...string[]],
  output: 'text' | 'lines',
): CommandTemplate {
  const [program, ...args] = argv;
  return {
    name: program,
    program,
    args: { plan: args, code: args },
    resume: [],
    prompt: args.some((arg) => arg.includes('{prompt}')) ? 'argument' : 'input',
    dialect: () => (output === 'text' ? { kind: 'text' } : plainLines),
  };
}

export const presets: Readonly<Record<string, Preset>> = {
  claude,
  codex,
  gemini,
  qwen,
  opencode,
  aider,
};
