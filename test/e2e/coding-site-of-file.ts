import { after, before } from 'node:test';
import { PostgresRoom } from '../../packages/capataz/src/bus/postgres/fixtures/postgres-room.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';
import { Site, SlowModel } from './coding-site.ts';

/** All services over a bus on PostgreSQL, from the first test of the file that calls it to its last. */
export async function siteOfThisFile(): Promise<Site> {
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
  return site;
}
