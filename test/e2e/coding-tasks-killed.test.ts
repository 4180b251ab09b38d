/** Services of the coding tasks are killed while a task is in one of its states: ten places of all. */
import { test } from 'node:test';
import { completesAfterKill, type PlaceName, type ServiceName } from './coding-site.ts';
import { siteOfThisFile } from './coding-site-of-file.ts';

const site = await siteOfThisFile();

const places: readonly [ServiceName, PlaceName][] = [
  ['orchestrator', 'PLANIFICANDO'],
  ['orchestrator', 'ESPERANDO_APROBACION_PLAN'],
  ['orchestrator', 'MONITOREANDO_EJECUCION'],
  ['orchestrator', 'PROBANDO_INTEGRACION'],
  ['orchestrator', 'ESPERANDO_FEEDBACK_INTERNO'],
  ['smith', 'PLANIFICANDO'],
  ['smith', 'EJECUTANDO_CODIGO in round 1'],
  ['smith', 'EJECUTANDO_CODIGO in round 2'],
  ['sandbox', 'PROBANDO_INTEGRACION'],
  ['gateway', 'ESPERANDO_APROBACION_PLAN'],
];

for (const [service, place] of places) {
  test(`C-14 C-g C-i S-74 kill -9 of the ${service} in ${place}: the task is completed all the same`, () =>
    completesAfterKill(site, service, place));
}
