import assert from 'node:assert/strict';
import { test } from 'node:test';
import { echoBlueprint } from '../../testing/echo-blueprint.ts';
import { serveEngine } from '../../testing/served-engine.ts';

test('the root leads to the page of the API', async () => {
  await using served = await serveEngine({ blueprints: [echoBlueprint] });
  const answer = await fetch(`${served.url}/`, { redirect: 'manual' });
  assert.equal(answer.status, 302);
  assert.equal(answer.headers.get('location'), '/_public/docs');
  assert.match(await answer.text(), /href="\/_public\/docs"/);
});

test('the page shows code as code, parameters with type and text, and a request for each route', async () => {
  await using served = await serveEngine({ blueprints: [echoBlueprint] });
  const html = await (await fetch(`${served.url}/_public/docs`)).text();
  assert.doesNotMatch(html.replaceAll(/<pre>.*?<\/pre>/gs, ''), /`/);
  assert.match(html, /<code>limit<\/code> \(query, integer, from 1 to 1000, default 100\) At most/);
  assert.match(html, /<code>format<\/code> \(query, dot or svg or mermaid, default dot\) \w/);
  assert.doesNotMatch(html, /\((?:query|path|header), [^<]*\) <\/li>/, 'a parameter has no text');
  assert.equal(html.split('<pre>curl ').length - 1, served.server.routes.length);
  assert.match(
    html,
    /curl -X POST &quot;\$CAPATAZ_URL\/api\/v1\/jobs\/\$BLUEPRINT&quot; .* -d '\{&quot;initial_data&quot;:\{\}\}'/,
  );
});
