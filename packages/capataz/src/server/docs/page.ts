import { escaped } from '../html.ts';
import { bodySchema, curlExample } from './curl-example.ts';
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from './openapi.ts';

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
summary { cursor: pointer; padding: .3rem 0; }
code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { overflow: auto; padding: .6rem; border: 1px solid #8884; border-radius: 4px; }
.method { display: inline-block; min-width: 4rem; font-weight: bold; }
details > div { margin: 0 0 1rem 1.2rem; }
`;

/** The OpenAPI document as one page of plain HTML: no script, no request to anywhere. */
export function docsPage(document: OpenApiDocument): string {
  const sections = [...operations(document)].map(
    ([area, items]) => `<h2>${escaped(area)}</h2>\n${items.join('\n')}`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Capataz API ${escaped(document.info.version)}</title>
<style>${style}</style>
<h1>Capataz API ${escaped(document.info.version)}</h1>
<p>${marked(document.info.description)} The same for programs: <a href="openapi.json">openapi.json</a>.</p>
<p>In the examples <code>CAPATAZ_URL</code> is the address of this server, and the tokens are those of <code>clients.toml</code> and <code>workers.toml</code>; a server in open mode needs none.</p>
${sections.join('\n')}
</html>
`;
}

function operations(document: OpenApiDocument): Map<string, string[]> {
  const byArea = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const area = operation.tags[0] ?? '';
      const items = byArea.get(area) ?? [];
      byArea.set(area, items);
      items.push(operationHtml(path, method, operation));
    }
  }
  return byArea;
}

function operationHtml(path: string, method: string, operation: OpenApiOperation): string {
  const { operationId, summary, description, requestBody } = operation;
  const parameters = (operation.parameters ?? []).map(parameterHtml);
  const responses = Object.entries(operation.responses).map(
    ([status, answer]) => `<li><code>${status}</code> ${marked(answer.description)}</li>`,
  );
  const schema = bodySchema(requestBody);
  const parts = [
    ...(description === undefined ? [] : [`<p>${marked(description)}</p>`]),
    `<pre>${escaped(curlExample(path, method, operation))}</pre>`,
    ...(parameters.length === 0 ? [] : [`<p>Parameters:</p><ul>${parameters.join('')}</ul>`]),
    ...(schema === undefined
      ? []
      : [`<p>Body:</p><pre>${escaped(JSON.stringify(schema, null, 2))}</pre>`]),
    `<p>Answers:</p><ul>${responses.join('')}</ul>`,
  ];
  return `<details id="${escaped(operationId)}">
<summary><span class="method">${method.toUpperCase()}</span> <code>${escaped(path)}</code> ${marked(summary)}</summary>
<div>${parts.join('\n')}</div>
</details>`;
}

function parameterHtml({ name, in: place, description = '', schema }: OpenApiParameter): string {
  return `<li><code>${escaped(name)}</code> (${place}, ${escaped(typeText(schema))}) ${marked(description)}</li>`;
}

/** The parts of a JSON Schema that the parameters here have. */
interface ParameterSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
}

function typeText(schema: ParameterSchema): string {
  const { type = 'string', enum: choices, minimum, maximum, default: fallback } = schema;
  // The schemas bound a whole number by the language's own limit where there is no other.
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const least = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const bounds = [
    ...(least === undefined ? [] : [`from ${least}`]),
    ...(most === undefined ? [] : [`to ${most}`]),
  ];
  return [
    choices?.join(' or ') ?? type,
    ...(bounds.length === 0 ? [] : [bounds.join(' ')]),
    ...(fallback === undefined ? [] : [`default ${String(fallback)}`]),
  ].join(', ');
}

/** Text whose words in backticks are code. */
function marked(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
