/** What the launcher's process costs with 500 devices; `npm run memory:rpa-launcher` measures a whole day. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LargeSite, usageOf } from './rpa-launcher-day.ts';

const minute = 60_000;

test('L-69: with 500 devices and nothing due, cycles take less than 5 % of a processor', {
  timeout: 120_000,
}, async () => {
  await using site = await LargeSite.open({ isBusy: false });
  await site.pass(minute);
  const begun = usageOf(site.launcher).cpu_seconds;
  const minutes = 20;
  await site.pass(minutes * minute);
  const share = (usageOf(site.launcher).cpu_seconds - begun) / (minutes * 60);
  assert.ok(share < 0.05, `${(share * 100).toFixed(1)} %`);
});

test('L-69: with 500 devices, most of which begin at once, the launcher stays at 200 MB', {
  timeout: 120_000,
}, async () => {
  await using site = await LargeSite.open({ isBusy: true });
  await site.pass(10 * minute);
  assert.ok(site.runs > 200, `${site.runs} runs`);
  const { rss_mb, peak_mb } = usageOf(site.launcher);
  // Between two collections of garbage it may be a bit more; without its measures it is 330 and more.
  assert.ok(rss_mb < 230, `${rss_mb} MB, at most ${peak_mb} MB`);
});
