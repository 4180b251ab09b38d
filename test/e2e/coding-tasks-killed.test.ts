/** Services of the coding tasks are killed while a task is in one of its states: ten places of all. */
import { after, before, test } from 'node:test';
import { PostgresRoom } from '../../packages/capataz/src/bus/postgres/fixtures/postgres-room.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';
import {
  completesAfterKill,
  type PlaceName,
  type ServiceName,
  Site,
  SlowModel,
} from './coding-site.ts';

const database = await postgresService();
const room = new PostgresRoom(database.url);
const model = await new SlowModel().listen();
const site = new Site(room.url, model);

before(() => site.startAll());
after(async () => {
  await site[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await room[Symbol.asyncDispose]();
  await database.close();
});

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
