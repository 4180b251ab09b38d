import { toDot, toMermaid } from '../../core/graph.ts';
import type { ServerContext } from '../context.ts';
import {
  blueprintQuery,
  blueprintsAnswer,
  blueprintView as blueprintViewSchema,
  graphQuery,
} from '../docs/client-schemas.ts';
import { dotToSvg } from '../graph-svg.ts';
import { check } from '../parse/check.ts';
import { type Answer, type Call, ok, param, type Route } from '../route.ts';
import { blueprintView } from '../views.ts';

const params = { name: "The blueprint's name." };

export function blueprintRoutes(context: ServerContext): Route[] {
  const { blueprints } = context.engine;
  return [
    {
      method: 'GET',
      path: '/api/v1/blueprints',
      area: 'client',
      operation: {
        id: 'listBlueprints',
        summary: 'All registered blueprints, every version',
        answers: { 200: { description: 'All', body: blueprintsAnswer } },
      },
      handle: () => ok({ blueprints: blueprints.list().map(blueprintView) }),
    },
    {
      method: 'GET',
      path: '/api/v1/blueprints/{name}',
      area: 'client',
      operation: {
        id: 'getBlueprint',
        summary: 'A blueprint',
        params,
        query: blueprintQuery,
        answers: { 200: { description: 'Its states and edges', body: blueprintViewSchema } },
        errors: ['BLUEPRINT_NOT_FOUND'],
      },
      handle: ({ request }) => {
        const { version } = check(blueprintQuery, request.query);
        return ok(blueprintView(blueprints.get(param(request, 'name'), version)));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/blueprints/{name}/graph',
      area: 'client',
      operation: {
        id: 'getGraph',
        summary: "A blueprint's graph as DOT, SVG or Mermaid",
        params,
        query: graphQuery,
        answers: {
          200: {
            description: 'The picture',
            types: ['text/vnd.graphviz', 'image/svg+xml', 'text/vnd.mermaid'],
          },
        },
        errors: ['BLUEPRINT_NOT_FOUND'],
      },
      handle: (call) => graph(context, call),
    },
  ];
}

async function graph({ engine }: ServerContext, { request }: Call): Promise<Answer> {
  const { format, version } = check(graphQuery, request.query);
  const blueprint = engine.blueprints.get(param(request, 'name'), version);
  switch (format) {
    case 'dot':
      return { status: 200, text: toDot(blueprint), type: 'text/vnd.graphviz; charset=utf-8' };
    case 'mermaid':
      return { status: 200, text: toMermaid(blueprint), type: 'text/vnd.mermaid; charset=utf-8' };
    case 'svg':
      return { status: 200, text: await dotToSvg(toDot(blueprint)), type: 'image/svg+xml' };
  }
}
