import { z } from 'zod';
import { type ErrorCode, errorCatalogue } from '../../protocol/errors.ts';
import type { Area, DescribedAnswer, Operation, Route } from '../route.ts';

/** The parts of an OpenAPI document that are used here. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: object;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: OpenApiBody;
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

export interface OpenApiBody {
  readonly content: {
    readonly 'application/json'?: { readonly schema: object };
    readonly 'application/x-www-form-urlencoded'?: { readonly schema: object };
    readonly 'application/octet-stream'?: object;
  };
}

export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

/** What any route of an area may answer besides its own. */
const areaErrors: Readonly<Record<Area, readonly ErrorCode[]>> = {
  public: [],
  client: [
    'VALIDATION_FAILED',
    'UNAUTHORIZED',
    'INTERNAL',
    'NOT_READY',
    'STORE_BUSY',
    'STORE_UNAVAILABLE',
  ],
  worker: [
    'VALIDATION_FAILED',
    'UNAUTHORIZED',
    'FORBIDDEN',
    'INTERNAL',
    'NOT_READY',
    'STORE_BUSY',
    'STORE_UNAVAILABLE',
  ],
};

const anyBodyErrors: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
const jsonErrors: readonly ErrorCode[] = ['INVALID_JSON', 'JSON_TOO_DEEP'];

const security: Readonly<Record<Area, readonly object[]>> = {
  public: [],
  client: [{ client: [] }],
  worker: [{ worker: [] }],
};

/** Describes exactly the routes of the table. `version` is the product's. */
export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const methods = paths[route.path] ?? {};
    methods[route.method.toLowerCase()] = describe(route);
    paths[route.path] = methods;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Capataz',
      version,
      description: 'Durable jobs, for clients under /api/v1 and workers under /_worker.',
    },
    paths,
    components: {
      securitySchemes: {
        client: { type: 'apiKey', in: 'header', name: 'X-Client-Token' },
        worker: { type: 'apiKey', in: 'header', name: 'X-Worker-Token' },
      },
      schemas: { Error: errorSchema },
    },
  };
}

const errorSchema = {
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'One sentence for people.' },
    code: { enum: Object.keys(errorCatalogue) },
    details: { type: 'object' },
  },
};

function describe({ area, operation, takes }: Route): OpenApiOperation {
  const parameters = parametersOf(operation);
  return {
    operationId: operation.id,
    tags: [area],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: security[area],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(operation, takes),
    responses: responsesOf(operation, [...areaErrors[area], ...bodyErrors(operation, takes)]),
  };
}

function requestBodyOf({ body }: Operation, takes: Route['takes']): object {
  if (takes === 'bytes') return { requestBody: { content: { 'application/octet-stream': {} } } };
  if (body === undefined) return {};
  const type = takes === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  return { requestBody: { content: { [type]: { schema: input(body) } } } };
}

function parametersOf({ params, query, headers }: Operation): OpenApiParameter[] {
  const text = { type: 'string' };
  return [
    ...Object.entries(params ?? {}).map(([name, description]) => ({
      name,
      in: 'path' as const,
      required: true,
      description,
      schema: text,
    })),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
      name,
      in: 'query' as const,
      required: false,
      ...(schema.description === undefined ? {} : { description: schema.description }),
      schema: input(schema),
    })),
    ...Object.entries(headers ?? {}).map(([name, description]) => ({
      name,
      in: 'header' as const,
      required: false,
      description,
      schema: text,
    })),
  ];
}

function bodyErrors({ body }: Operation, takes: Route['takes']): readonly ErrorCode[] {
  if (body === undefined) return [];
  return takes === 'form' ? anyBodyErrors : [...jsonErrors, ...anyBodyErrors];
}

function responsesOf(
  operation: Operation,
  common: readonly ErrorCode[],
): OpenApiOperation['responses'] {
  const responses: Record<string, { description: string; content?: object }> = {};
  for (const [status, answer] of Object.entries(operation.answers)) {
    responses[status] = { description: answer.description, ...contentOf(answer) };
  }
  const codes = new Set([...common, ...(operation.errors ?? [])]);
  for (const code of codes) {
    const { status, meaning } = errorCatalogue[code];
    const known = responses[String(status)];
    const sentence = `\`${code}\`: ${meaning}`;
    responses[String(status)] = {
      description: known === undefined ? sentence : `${known.description} ${sentence}`,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
  }
  return responses;
}

function contentOf({ body, types }: DescribedAnswer): object {
  if (types !== undefined) {
    return { content: Object.fromEntries(types.map((type) => [type, {}])) };
  }
  if (body === undefined) return {};
  return { content: { 'application/json': { schema: jsonSchema(body, 'output') } } };
}

function input(schema: z.core.$ZodType): object {
  return jsonSchema(schema, 'input');
}

function jsonSchema(schema: z.core.$ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
