import type { OpenApiDocument, OpenApiOperation } from './openapi.ts';

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
<p>${escaped(document.info.description)} The same for programs: <a href="openapi.json">openapi.json</a>.</p>
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
  const parameters = (operation.parameters ?? []).map(
    (parameter) =>
      `<li><code>${escaped(parameter.name)}</code> (${parameter.in}) ${escaped(parameter.description ?? '')}</li>`,
  );
  const responses = Object.entries(operation.responses).map(
    ([status, { description }]) => `<li><code>${status}</code> ${escaped(description)}</li>`,
  );
  const body =
    operation.requestBody === undefined
      ? ''
      : `<p>Body:</p><pre>${escaped(JSON.stringify(operation.requestBody, null, 2))}</pre>`;
  return `<details id="${escaped(operation.operationId)}">
<summary><span class="method">${method.toUpperCase()}</span> <code>${escaped(path)}</code> ${escaped(operation.summary)}</summary>
<div><p>${escaped(operation.description ?? '')}</p><ul>${parameters.join('')}</ul>${body}<p>Answers:</p><ul>${responses.join('')}</ul></div>
</details>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
