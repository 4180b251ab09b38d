import { CapatazError } from '../protocol/errors.ts';

type Viz = Awaited<ReturnType<typeof import('@viz-js/viz')['instance']>>;

let viz: Promise<Viz> | undefined;

/**
 * Draws DOT as SVG without a Graphviz on the host. Its WebAssembly (1.4 MB) is loaded with the
 * first picture, since most servers never draw one.
 * @throws CapatazError INTERNAL when the text is no DOT.
 */
export async function dotToSvg(dot: string): Promise<string> {
  viz ??= import('@viz-js/viz').then(({ instance }) => instance());
  const result = (await viz).render(dot, { format: 'svg', engine: 'dot' });
  if (result.status === 'success') return result.output;
  const reasons = result.errors.map(({ message }) => message).join('; ');
  throw new CapatazError('INTERNAL', `the graph could not be drawn: ${reasons}`);
}
