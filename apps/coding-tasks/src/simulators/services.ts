import type { Message } from '../contract/messages.ts';
import { originators } from '../contract/names.ts';
import { queues } from '../contract/queues.ts';
import type { ServiceWorld } from '../service.ts';
import { type Answer, type Behaviour, obedient, Simulator } from './simulator.ts';

/** How long the simulated services of the specification take. */
export const usualTimes = {
  'tarea.generar_plan': 5_000,
  'tarea.aprobar_plan': 15_000,
  'tarea.enviar_feedback': 10_000,
  'tarea.probar_integracion': 10_000,
} as const satisfies Behaviour['takesMs'];

export function simulatedSmith(world: ServiceWorld, behaviour: Partial<Behaviour> = {}): Simulator {
  return new Simulator(
    {
      name: originators.smith,
      queue: queues.smith,
      behaviour: { ...obedient, takesMs: { ...usualTimes }, ...behaviour },
      answer: smithAnswer,
      session: sessionOf,
    },
    world,
  );
}

/** @param verdict what the tests say; default: they pass */
export function simulatedSandbox(
  world: ServiceWorld,
  behaviour: Partial<Behaviour> = {},
  verdict: (order: Message<'tarea.probar_integracion'>) => boolean = () => true,
): Simulator {
  return new Simulator(
    {
      name: originators.sandbox,
      queue: queues.sandbox,
      behaviour: { ...obedient, takesMs: { ...usualTimes }, ...behaviour },
      answer: (order) => sandboxAnswer(order, verdict),
      session: () => '',
    },
    world,
  );
}

function sessionOf(taskId: string): string {
  return `session-${taskId}`;
}

function smithAnswer(order: Message): Answer | null {
  const { taskId } = order;
  const sessionId = sessionOf(taskId);
  switch (order.name) {
    case 'tarea.generar_plan': {
      const { prompt, intento = 1 } = order.payload;
      const payload = { planId: `plan-${intento}`, plan: { pasos: [prompt] }, sessionId };
      return { name: 'resultado.plan_generado', payload };
    }
    case 'tarea.aprobar_plan':
    case 'tarea.enviar_feedback': {
      const { repositorioOrigen = '', ronda = 1 } = order.payload;
      const pullRequestUrl = `${repositorioOrigen}#capataz/${taskId}/${ronda}`;
      return { name: 'resultado.pr_generada', payload: { pullRequestUrl, sessionId } };
    }
    default:
      return null;
  }
}

function sandboxAnswer(
  order: Message,
  verdict: (order: Message<'tarea.probar_integracion'>) => boolean,
): Answer | null {
  if (order.name !== 'tarea.probar_integracion') return null;
  const exito = verdict(order);
  const log = exito ? 'all tests pass' : `a test fails in round ${order.payload.ronda ?? '?'}`;
  return { name: 'resultado.integracion_finalizada', payload: { exito, log } };
}
