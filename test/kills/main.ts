/**
 * `npm run kills:coding-tasks`: kill -9 of each service of the coding tasks in each state of a task. It takes about
 * two minutes, so that `npm test` has ten of these places and CI all of them.
 */
import { test } from 'node:test';
import { completesAfterKill, type PlaceName, places, serviceNames } from '../e2e/coding-site.ts';
import { siteOfThisFile } from '../e2e/coding-site-of-file.ts';

const site = await siteOfThisFile();

for (const service of serviceNames)
  for (const place of Object.keys(places) as PlaceName[])
    test(`kill -9 of the ${service} in ${place}`, () => completesAfterKill(site, service, place));
