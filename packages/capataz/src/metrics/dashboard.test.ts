/** The dashboard in deploy/grafana. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { z } from 'zod';
import { knownSeries } from './fixtures/known-series.ts';
import { Query } from './fixtures/promql.ts';

const dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  panels: z.array(
    z.object({
      id: z.number(),
      title: z.string(),
      type: z.string(),
      gridPos: z.strictObject({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
      targets: z.exactOptional(z.array(z.object({ expr: z.string(), refId: z.string() }))),
    }),
  ),
});

const path = new URL('../../../../deploy/grafana/lifecycle.json', import.meta.url);
const { panels } = dashboard.parse(JSON.parse(readFileSync(path, 'utf8')));
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, selectors: new Query(expr).selectors })),
);

test('H-49 A-66: every query of the dashboard asks for a metric that exists', () => {
  const known = knownSeries();
  assert.ok(queries.length > 0);
  for (const { title, selectors } of queries) {
    assert.ok(selectors.length > 0, title);
    for (const { name } of selectors) assert.ok(known.has(name), `${title}: there is no ${name}`);
  }
});

test('H-49: the dashboard shows all metrics', () => {
  const shown = new Set(queries.flatMap(({ selectors }) => selectors.map(({ name }) => name)));
  const missing = [...knownSeries().keys()].filter(
    (name) => !shown.has(name) && !/_(?:sum|count)$/.test(name),
  );
  assert.deepEqual(missing, []);
});

test('H-49: panels have ids of their own and do not lie on each other', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Set<string>();
  for (const { title, gridPos } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.ok(!taken.has(`${x},${y}`), `${title} lies on another panel`);
        taken.add(`${x},${y}`);
      }
    }
  }
});
