import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CapatazError } from 'capataz';
import { type ApplicationCommand, type CommandContext, oneLine, UsageError } from 'capataz/server';
import { z } from 'zod';
import type { ServerMessage } from '../contract/client.ts';
import { applicationName } from '../contract/envelope.ts';
import { GatewayClient } from './gateway-client.ts';
import { messageText, type TaskView, taskText, taskView } from './task-text.ts';

interface Call {
  readonly gateway: GatewayClient;
  readonly context: CommandContext;
  readonly options: z.infer<typeof taskOptions>;
}

const text = z.string().min(1);
const taskOptions = z.object({
  repository: text.optional(),
  branch: text.optional(),
  approval: z.boolean().default(true),
  request: text.optional(),
  plan: text.optional(),
  hash: text.optional(),
  comment: text.optional(),
});

type Action = (call: Call, argument: string) => Promise<number | void>;

const actions: Readonly<Record<string, Action>> = {
  new: begin,
  show,
  approve,
  reject,
  cancel,
  watch,
};

/** A word, then what it needs: a prompt for `new`, else the id of a task. */
export const taskCommand: ApplicationCommand = {
  name: 'task <action> [argument]',
  description:
    'Coding tasks, by way of the gateway: new <prompt>, list, show|approve|reject|cancel|watch <id>.',
  needsServer: false,
  options: [
    { flags: '--repository <url>', description: 'new: the repository that the task is about.' },
    { flags: '--branch <name>', description: "new: the branch. Default: the remote's HEAD." },
    { flags: '--no-approval', description: 'new: carry the plan out without asking.' },
    { flags: '--request <id>', description: 'new: your own id; the same one makes one task.' },
    { flags: '--plan <id>', description: 'approve, reject: the plan that you have seen.' },
    { flags: '--hash <hash>', description: 'approve, reject: of the plan as it was shown.' },
    { flags: '--comment <text>', description: 'reject: what is wrong; another plan is made.' },
  ],
  async run(context) {
    const { gatewayUrl, userToken } = context.settings;
    const token = typeof userToken === 'string' ? userToken : null;
    const gateway = new GatewayClient({ url: String(gatewayUrl), token });
    const options = taskOptions.parse(context.options);
    const [word = '', argument] = context.arguments;
    const call = { gateway, context, options };
    if (word === 'list') return list(call);
    const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
    if (action === undefined)
      throw new UsageError(`"${word}" is none of list, ${Object.keys(actions).join(', ')}`);
    if (argument === undefined)
      throw new UsageError(`task ${word}: ${word === 'new' ? 'the prompt' : 'the id'} is missing`);
    return action(call, argument);
  },
};

async function begin({ gateway, context, options }: Call, prompt: string): Promise<void> {
  if (options.repository === undefined) throw new UsageError('task new: --repository is missing');
  const answer = await gateway.request('POST', '/tareas', {
    prompt,
    repositorioOrigen: wholeAddress(options.repository),
    ...(options.branch === undefined ? {} : { ramaDestino: options.branch }),
    ...(options.request === undefined ? {} : { solicitudId: options.request }),
    reglas: { requiereAprobacionPlan: options.approval },
  });
  const { taskId } = z.object({ taskId: z.string() }).parse(answer);
  if (context.asJson) return context.print.json({ taskId });
  context.print.line(taskId);
}

/** A folder of this machine is named from where one stands; the smith stands elsewhere. */
function wholeAddress(repository: string): string {
  const path = resolve(repository);
  return existsSync(path) ? path : repository;
}

async function list({ gateway, context }: Call): Promise<void> {
  const answer = await gateway.request('GET', '/tareas');
  const { tareas } = z.object({ tareas: z.array(taskView) }).parse(answer);
  if (context.asJson) return context.print.json(tareas);
  const rows = tareas.map((task) => [task.taskId, task.estado, oneLine(task.prompt)]);
  context.print.table(['TASK', 'STATE', 'PROMPT'], rows);
}

async function show({ gateway, context }: Call, id: string): Promise<void> {
  const task = await read(gateway, id);
  if (context.asJson) return context.print.json(task);
  context.print.line(taskText(task));
}

/** Names the plan that was seen: one that has replaced it since is not approved by mistake. */
async function approve({ gateway, context, options }: Call, id: string): Promise<void> {
  const { plan, hash } = options;
  const planId = await planMeant(gateway, id, 'approve', { plan, hash });
  await gateway.request('POST', taskPath(id, 'aprobar'), {
    planId,
    ...(hash === undefined ? {} : { hash }),
  });
  done(context, 'approved');
}

async function reject({ gateway, context, options }: Call, id: string): Promise<void> {
  const { plan, hash, comment } = options;
  const planId = await planMeant(gateway, id, 'reject', { plan, hash });
  await gateway.request('POST', taskPath(id, 'rechazar'), {
    planId,
    ...(comment === undefined ? {} : { comentario: comment }),
  });
  done(context, comment === undefined ? 'rejected' : 'rejected; another plan is being made');
}

async function cancel({ gateway, context, options }: Call, id: string): Promise<void> {
  const { comment } = options;
  const body = comment === undefined ? {} : { motivo: comment };
  await gateway.request('POST', taskPath(id, 'cancelar'), body);
  done(context, 'cancelled');
}

/** @returns 1 where the task failed */
async function watch({ gateway, context }: Call, id: string): Promise<number> {
  const { print } = context;
  let isCompleted = false;
  const take = (message: ServerMessage): boolean => {
    if (message.payload.taskId !== id) return false;
    if (context.asJson) print.line(JSON.stringify(message));
    else print.line(messageText(message));
    isCompleted = message.tipo === 'TAREA_FINALIZADA' && message.payload.estado === 'COMPLETADA';
    return message.tipo === 'TAREA_FINALIZADA';
  };
  // One that ended long ago is not among those that the gateway tells of.
  const { estado, resultado, terminada } = await read(gateway, id);
  if (terminada === null) await gateway.follow(take);
  else take(ended(id, estado, resultado));
  return isCompleted ? 0 : 1;
}

function ended(taskId: string, estado: string, resultado: TaskView['resultado']): ServerMessage {
  const word = estado === 'COMPLETADA' ? 'COMPLETADA' : 'FALLIDA';
  const payload = { taskId, estado: word, resultado: { estado, ...resultado } } as const;
  return { tipo: 'TAREA_FINALIZADA', payload };
}

/** @returns the id of the plan that was seen */
async function planMeant(
  gateway: GatewayClient,
  id: string,
  word: string,
  { plan: planId, hash }: Pick<Call['options'], 'plan' | 'hash'>,
): Promise<string> {
  if (hash === undefined) {
    if (planId !== undefined) return planId;
    throw new UsageError(`task ${word}: name what you have seen with --hash or --plan`);
  }
  const { plan, estado } = await read(gateway, id);
  if (plan?.hash === hash && (planId ?? plan.planId) === plan.planId) return plan.planId;
  const now = plan === null ? `there is no plan; the task is in ${estado}` : 'the plan is another';
  throw new CapatazError('SIGNAL_REFUSED', now, {
    hint: `\`${applicationName} task show ${id}\` shows what waits.`,
  });
}

async function read(gateway: GatewayClient, id: string): Promise<TaskView> {
  return taskView.parse(await gateway.request('GET', taskPath(id)));
}

function taskPath(id: string, action?: string): string {
  return `/tareas/${encodeURIComponent(id)}${action === undefined ? '' : `/${action}`}`;
}

function done({ print, asJson }: CommandContext, word: string): void {
  if (asJson) print.json({ done: word });
  else print.line(word);
}
