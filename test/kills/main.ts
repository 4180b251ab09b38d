/**
 * `npm run kills:coding-tasks`: kill -9 of each service of the coding tasks in each state of a task. It takes about
 * two minutes, so that `npm test` has ten of these places and CI all of them.
 */
import { after, before, test } from 'node:test';
import { PostgresRoom } from '../../packages/capataz/src/bus/postgres/fixtures/postgres-room.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';
import {
  completesAfterKill,
  type PlaceName,
  places,
  Site,
  SlowModel,
  serviceNames,
} from '../e2e/coding-site.ts';

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

for (const service of serviceNames)
  for (const place of Object.keys(places) as PlaceName[])
    test(`kill -9 of the ${service} in ${place}`, () => completesAfterKill(site, service, place));
