import type { QueueOptions } from 'capataz/bus';
import { exchanges } from './names.ts';

/**
 * Each service has a queue of its own, bound to the names that it needs, so that none takes what is
 * for another. Every process declares all of them: what is published before a service's first start
 * waits for it.
 */
export const queues = {
  userActions: {
    durable: 'orchestrator-service.tareas',
    exchange: exchanges.orders,
    patterns: ['tarea.crear', 'tarea.aprobar_plan', 'tarea.rechazar_plan', 'tarea.cancelar'],
  },
  results: {
    durable: 'orchestrator-service.resultados',
    exchange: exchanges.results,
    patterns: ['resultado.*'],
  },
  smith: {
    durable: 'herrero-adapter-service',
    exchange: exchanges.orders,
    patterns: [
      'tarea.generar_plan',
      'tarea.aprobar_plan',
      'tarea.enviar_feedback',
      'tarea.consultar_estado',
      'tarea.cancelar',
    ],
  },
  sandbox: {
    durable: 'sandbox-service',
    exchange: exchanges.orders,
    patterns: ['tarea.probar_integracion', 'tarea.consultar_estado', 'tarea.cancelar'],
  },
} as const satisfies Readonly<Record<string, QueueOptions>>;
