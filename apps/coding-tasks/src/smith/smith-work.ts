import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Payload, payloads } from '../contract/payloads.ts';
import { GitError } from '../performer/git.ts';
import type { Run } from '../performer/ledger.ts';
import {
  branchRef,
  checkedRepository,
  pullRequestPlace,
  RepositoryRefused,
} from '../performer/repository-url.ts';
import { killRun, marksOf } from '../performer/strays.ts';
import {
  type Facts,
  type Work,
  type WorkControl,
  type WorkEnd,
  WorkFailed,
} from '../performer/work.ts';
import { type Agent, AgentFailed, type Answer, type Phase } from './agent.ts';
import { type Forge, ForgeError } from './forge.ts';
import { codePrompt, correctionPrompt, planPrompt } from './prompts.ts';
import type { Workspace, Workspaces } from './workspaces.ts';

export interface SmithParts {
  readonly agent: Agent;
  readonly workspaces: Workspaces;
  readonly forge: Forge;
  /** The service's own folder; agents' answer files lie there for the length of a turn. */
  readonly folder: string;
  readonly newId: () => string;
  /** Beginnings of repositories that may be worked on; none means all. */
  readonly allowedRepositories: readonly string[];
  /** Before the task's id in the names of branches: `capataz/`. */
  readonly branchPrefix: string;
}

/** What the smith remembers of a task; `sessionId` is the performer's own. */
interface Known {
  readonly repository: string;
  /** The branch that the work is for, or null for the remote's HEAD. */
  readonly target: string | null;
  readonly request: string;
  readonly planId: string | null;
  /** The plan as it was published, as JSON. */
  readonly plan: string | null;
  /** The commit that was planned on. */
  readonly base: string | null;
  /** The last commit that was handed in. */
  readonly tip: string | null;
  /** The round in which it was; 0: in none yet. */
  readonly round: number;
  readonly agentSession: string | null;
}

/** A plan that fits into a message, and into a person's head. */
const maxPlanChars = 200_000;
const maxDiffChars = 1_000_000;
const maxTitleChars = 72;

/** Plan, code and correction: the trade of the smith. */
export function createSmithWork(parts: SmithParts): Work {
  return async (run, control) => {
    try {
      switch (run.name) {
        case 'tarea.generar_plan':
          return await makePlan(parts, run, control);
        case 'tarea.aprobar_plan':
          return await writeCode(parts, run, control);
        case 'tarea.enviar_feedback':
          return await correct(parts, run, control);
        default:
          throw new WorkFailed('orden_desconocida', `no order of the smith: ${run.name}`, false);
      }
    } catch (error) {
      throw asWorkFailed(error);
    }
  };
}

/** What the agent changes while it plans is thrown away with the worktree: nobody has approved it. */
async function makePlan(parts: SmithParts, run: Run, control: WorkControl): Promise<WorkEnd> {
  const order = payloads['tarea.generar_plan'].parse(run.payload);
  const before = knownFrom(control.facts);
  const repository = repositoryOf(parts, order.repositorioOrigen ?? before.repository);
  const target = order.ramaDestino ?? before.target;
  control.say('fetching the repository');
  const base = await parts.workspaces.fetch(repository, refOf(target), control.signal);
  const request = order.prompt || before.request;
  const rejected =
    order.comentario === undefined
      ? null
      : { plan: planText(before.plan), comment: order.comentario };
  const answer = await inWorkspace(parts, run, { repository, start: base }, control, () => ({
    phase: 'plan',
    prompt: planPrompt(request, rejected),
    session: rejected === null ? null : before.agentSession,
  }));
  const words = answer.text.trim().slice(0, maxPlanChars);
  if (words === '') throw new WorkFailed('plan_vacio', 'the agent gave no plan', false);
  const plan = { texto: words, agente: parts.agent.name, base };
  const planId = parts.newId();
  return {
    outcome: {
      name: 'resultado.plan_generado',
      payload: { planId, plan, uso: usageOf(answer) },
    },
    facts: factsFrom({
      ...{ repository, target, request, planId, base, tip: null, round: 0 },
      plan: JSON.stringify(plan),
      agentSession: answer.session,
    }),
  };
}

/** Carries out the approved plan and no other. */
async function writeCode(parts: SmithParts, run: Run, control: WorkControl): Promise<WorkEnd> {
  const order = payloads['tarea.aprobar_plan'].parse(run.payload);
  const before = knownFrom(control.facts);
  refuseOtherPlan(order, before);
  const repository = repositoryOf(parts, order.repositorioOrigen ?? before.repository);
  const target = order.ramaDestino ?? before.target;
  const base =
    before.base ?? (await parts.workspaces.fetch(repository, refOf(target), control.signal));
  const plan = order.plan === undefined ? before.plan : JSON.stringify(order.plan);
  const request = order.prompt ?? before.request;
  const round = order.ronda ?? 1;
  const known = { ...before, repository, target, base, plan, request, planId: order.planId, round };
  return handIn(parts, run, control, known, base, {
    phase: 'code',
    prompt: codePrompt(request, planText(plan)),
  });
}

async function correct(parts: SmithParts, run: Run, control: WorkControl): Promise<WorkEnd> {
  const order = payloads['tarea.enviar_feedback'].parse(run.payload);
  const before = knownFrom(control.facts);
  const repository = repositoryOf(parts, order.repositorioOrigen ?? before.repository);
  const start = before.tip ?? (await handedIn(parts, repository, order, control.signal));
  const round = order.ronda ?? before.round + 1;
  const known = { ...before, repository, target: order.ramaDestino ?? before.target, round };
  return handIn(parts, run, control, known, start, {
    phase: 'correction',
    prompt: correctionPrompt(order.promptCorreccion, {
      request: before.request,
      plan: planText(before.plan),
    }),
  });
}

/** A smith that has lost its folder finds its work again at the pull request. */
async function handedIn(
  parts: SmithParts,
  repository: string,
  { pullRequestUrl }: Payload<'tarea.enviar_feedback'>,
  signal: AbortSignal,
): Promise<string> {
  if (pullRequestUrl === undefined) {
    throw new WorkFailed('tarea_desconocida', 'nothing is known of a change to correct', true);
  }
  const { ref } = pullRequestPlace(pullRequestUrl, parts.allowedRepositories);
  return parts.workspaces.fetch(repository, ref, signal);
}

/** One turn that changes the code, and its way to the forge. */
async function handIn(
  parts: SmithParts,
  run: Run,
  control: WorkControl,
  known: Known,
  start: string,
  ask: { readonly phase: Phase; readonly prompt: string },
): Promise<WorkEnd> {
  const { repository, target, request } = known;
  const title = titleOf(request, run.task);
  let tip = start;
  let diff = '';
  const answer = await inWorkspace(
    parts,
    run,
    { repository, start },
    control,
    () => ({ ...ask, session: known.agentSession }),
    async (workspace) => {
      tip = await parts.workspaces.seal(workspace, title);
      diff = await parts.workspaces.diff(workspace, known.base ?? start);
    },
  );
  if (tip === start) {
    throw new WorkFailed('sin_cambios', `the agent changed nothing: ${answer.text}`, false);
  }
  control.say('handing in the change');
  const own = branchOf(parts, run.task);
  const branch = parts.forge.branchFor(repository, { branch: own, round: known.round });
  await parts.workspaces.push({ repository, branch: own, to: branch, signal: control.signal });
  const body = `${answer.text}\n\nTask ${run.task}`;
  const pullRequestUrl = await parts.forge.open(
    { repository, branch, target, title, body },
    control.signal,
  );
  return {
    outcome: {
      name: 'resultado.pr_generada',
      payload: { pullRequestUrl, diff: shortened(diff), uso: usageOf(answer) },
    },
    facts: factsFrom({ ...known, tip, agentSession: answer.session }),
  };
}

async function inWorkspace(
  parts: SmithParts,
  run: Run,
  place: { readonly repository: string; readonly start: string },
  control: WorkControl,
  ask: () => { readonly phase: Phase; readonly prompt: string; readonly session: string | null },
  after: (workspace: Workspace) => Promise<void> = async () => undefined,
): Promise<Answer> {
  const request = { ...place, branch: branchOf(parts, run.task), signal: control.signal };
  const answers = join(parts.folder, 'answers');
  mkdirSync(answers, { recursive: true });
  const answerFile = join(answers, `${branchOf(parts, run.task).replaceAll('/', '-')}.md`);
  rmSync(answerFile, { force: true });
  try {
    return await parts.workspaces.using(request, async (workspace) => {
      const { phase, prompt, session } = ask();
      control.say(`${parts.agent.name}: ${phase}`);
      const marks = marksOf(parts.folder, run.id);
      const answer = await parts.agent.turn(
        { phase, prompt, session, answerFile, marks, folder: workspace.folder },
        { signal: control.signal, say: voiceOf(parts.agent, control) },
      );
      control.signal.throwIfAborted();
      // Before anything is read from the worktree: nobody shall write there any more.
      killRun(parts.folder, run.id);
      await after(workspace);
      return answer;
    });
  } finally {
    killRun(parts.folder, run.id);
    rmSync(answerFile, { force: true });
  }
}

/** Of an agent that streams its words, a line is printed only once the next one begins. */
function voiceOf({ name }: Agent, { say, print }: WorkControl): (status: string) => void {
  let line = '';
  return (status) => {
    say(`${name}: ${status}`);
    if (!status.startsWith(line)) print(`${line}\n`);
    line = status;
  };
}

/** The plan that a person has seen is the plan that is carried out (B-037). */
function refuseOtherPlan(order: Payload<'tarea.aprobar_plan'>, known: Known): void {
  if (known.planId === null && order.plan === undefined) {
    throw new WorkFailed('tarea_desconocida', 'nothing is known of a plan for this task', true);
  }
  if (known.planId !== null && known.planId !== order.planId) {
    throw new WorkFailed(
      'plan_desconocido',
      `plan ${order.planId} was approved, but the plan is ${known.planId}: nothing was done`,
      false,
    );
  }
  if (known.plan === null || order.plan === undefined) return;
  if (!isDeepStrictEqual(order.plan, JSON.parse(known.plan))) {
    throw new WorkFailed(
      'plan_distinto',
      `plan ${order.planId} is not the one that was made under this id: nothing was done`,
      false,
    );
  }
}

function repositoryOf(parts: SmithParts, repository: string): string {
  if (repository === '') {
    throw new WorkFailed('sin_repositorio', 'the order names no repository', false);
  }
  return checkedRepository(repository, parts.allowedRepositories);
}

function refOf(target: string | null): string {
  return target === null ? 'HEAD' : branchRef(target);
}

function branchOf({ branchPrefix }: SmithParts, task: string): string {
  return `${branchPrefix}${task.replace(/[^\w-]/g, '-')}`;
}

function titleOf(request: string, task: string): string {
  const [line = ''] = request.trim().split('\n');
  return line.slice(0, maxTitleChars) || `Task ${task}`;
}

function planText(plan: string | null): string {
  if (plan === null) return '';
  const { texto } = JSON.parse(plan);
  return typeof texto === 'string' ? texto : plan;
}

function shortened(diff: string): string {
  return diff.length <= maxDiffChars ? diff : `${diff.slice(0, maxDiffChars)}\n… cut off\n`;
}

function usageOf({ usage }: Answer) {
  if (usage === null) return null;
  return {
    costeUsd: usage.costUsd,
    tokensEntrada: usage.inputTokens,
    tokensSalida: usage.outputTokens,
  };
}

function knownFrom(facts: Facts): Known {
  return {
    repository: facts.repository ?? '',
    target: facts.target ?? null,
    request: facts.request ?? '',
    planId: facts.planId ?? null,
    plan: facts.plan ?? null,
    base: facts.base ?? null,
    tip: facts.tip ?? null,
    round: Number(facts.round ?? 0),
    agentSession: facts.agentSession ?? null,
  };
}

function factsFrom(known: Known): Facts {
  return { ...known, round: String(known.round) };
}

function asWorkFailed(error: unknown): unknown {
  if (error instanceof AgentFailed) {
    return new WorkFailed('agente', error.message, error.isRecoverable);
  }
  if (error instanceof GitError) return new WorkFailed('git', error.message, true);
  if (error instanceof RepositoryRefused) {
    return new WorkFailed('repositorio', error.message, false);
  }
  if (error instanceof ForgeError) return new WorkFailed('forja', error.message, !error.isRefused);
  return error;
}
