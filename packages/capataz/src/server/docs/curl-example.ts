import type { OpenApiBody, OpenApiOperation } from './openapi.ts';

const tokenHeaders: Readonly<Record<string, string>> = {
  client: 'X-Client-Token: $CAPATAZ_TOKEN',
  worker: 'X-Worker-Token: $CAPATAZ_WORKER_TOKEN',
};

/** A request that a shell understands, with a body of the right shape. */
export function curlExample(
  path: string,
  method: string,
  { tags, responses, requestBody }: OpenApiOperation,
): string {
  const isStream = JSON.stringify(responses).includes('text/event-stream');
  const token = tokenHeaders[tags[0] ?? ''];
  const schema = requestBody?.content['application/json']?.schema;
  const form = requestBody?.content['application/x-www-form-urlencoded']?.schema;
  return [
    'curl',
    ...(isStream ? ['-N'] : []),
    ...(method === 'get' ? [] : ['-X', method.toUpperCase()]),
    `"$CAPATAZ_URL${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)}"`,
    ...(token === undefined ? [] : ['-H', `"${token}"`]),
    ...(requestBody?.content['application/octet-stream'] === undefined ? [] : ['-T', '"$FILE"']),
    ...(schema === undefined
      ? []
      : ['-H', '"Content-Type: application/json"', '-d', `'${JSON.stringify(sample(schema))}'`]),
    ...(form === undefined ? [] : formArguments(form)),
  ].join(' ');
}

/** Of a body that has one, whatever it is written in. */
export function bodySchema(body: OpenApiBody | undefined): object | undefined {
  const media = body?.content['application/json'];
  return (media ?? body?.content['application/x-www-form-urlencoded'])?.schema;
}

function formArguments(schema: SampleSchema): string[] {
  return Object.entries(sampleObject(schema)).flatMap(([name, value]) => [
    '--data-urlencode',
    `"${name}=${String(value)}"`,
  ]);
}

/** The parts of a JSON Schema that a sample is made from. */
interface SampleSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly SampleSchema[];
  readonly items?: SampleSchema;
  readonly properties?: Readonly<Record<string, SampleSchema>>;
  readonly required?: readonly string[];
}

const sampleUuid = '0199a000-0000-7000-8000-000000000000';

/** Its own example, else what is required, or of what is optional the first. */
function sample(schema: SampleSchema): unknown {
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return sample(schema.anyOf[0]);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  switch (type) {
    case 'object':
      return sampleObject(schema);
    case 'array':
      return [sample(schema.items ?? {})];
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'string':
      return schema.format === 'uuid' ? sampleUuid : 'text';
    default:
      return {};
  }
}

function sampleObject({ properties = {}, required = [] }: SampleSchema): object {
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  return Object.fromEntries(names.map((name) => [name, sample(properties[name] ?? {})]));
}
