import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ApplicationCommand,
  type CommandContext,
  systemClock,
  UsageError,
} from 'capataz/server';
import { processEnvironment } from '../performer/environment.ts';
import { type AgentCheck, checkAgent, type KnownAgent, knownAgents } from '../smith/check-agent.ts';

export const agentsCommand: ApplicationCommand = {
  name: 'agents <action> [agent...]',
  description:
    "Coding agents. check: whether the installed ones' help names the flags that are used here; 1 if not, or if one that you name is not installed.",
  needsServer: false,
  async run(context) {
    const [word = '', ...names] = context.arguments;
    if (word !== 'check') throw new UsageError(`agents: "${word}" is no action; there is check`);
    const checks = await checkAll(agentsNamed(names));
    show(context, checks);
    const isBad = ({ status }: AgentCheck): boolean =>
      status === 'not_installed' ? names.length > 0 : status !== 'ok';
    return checks.some(isBad) ? 1 : 0;
  },
};

function agentsNamed(names: readonly string[]): readonly KnownAgent[] {
  if (names.length === 0) return knownAgents;
  return names.map((name) => {
    const known = knownAgents.find((agent) => agent.name === name);
    if (known !== undefined) return known;
    const all = knownAgents.map((agent) => agent.name).join(', ');
    throw new UsageError(`agents check: there is no agent "${name}"; there are ${all}`);
  });
}

/** In a folder of their own: some write there, or read what they find. */
async function checkAll(agents: readonly KnownAgent[]): Promise<AgentCheck[]> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-agents-'));
  const place = { clock: systemClock, environment: processEnvironment(), folder };
  try {
    return await Promise.all(agents.map((agent) => checkAgent(agent, place)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function show({ print, asJson }: CommandContext, checks: readonly AgentCheck[]): void {
  if (asJson) return print.json(checks);
  print.table(
    ['AGENT', 'STATUS', ''],
    checks.map((check) => [check.agent, check.status.replace('_', ' '), remarkOn(check)]),
  );
}

function remarkOn({ status, missing, problem }: AgentCheck): string {
  if (status === 'flag_missing') return `its help does not name ${missing.join(', ')}`;
  return problem ?? '';
}
