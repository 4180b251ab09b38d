import type { Blueprint, State } from './blueprint.ts';

/**
 * The declared graph in Graphviz' language. The implicit edge of every state to `failed` is drawn
 * only where a state declares it: drawn everywhere it would hide the rest.
 */
export function toDot(blueprint: Blueprint): string {
  const lines = [
    `digraph ${quoted(`${blueprint.name} v${blueprint.version}`)} {`,
    '  rankdir=LR;',
    '  node [shape=box, style=rounded, fontname="Helvetica"];',
    '  edge [fontname="Helvetica"];',
    '  "" [shape=point, label=""];',
    ...namesOf(blueprint).map((name) => dotNode(name, blueprint.states.get(name))),
    `  "" -> ${quoted(blueprint.start)};`,
  ];
  for (const { name, to, fanOut } of blueprint.states.values()) {
    const style = fanOut ? ' [style=bold]' : '';
    for (const target of to) lines.push(`  ${quoted(name)} -> ${quoted(target)}${style};`);
  }
  return `${lines.join('\n')}\n}\n`;
}

function dotNode(name: string, state: State | undefined): string {
  const attributes: string[] = [];
  if (isEnd(state)) attributes.push('peripheries=2');
  if (state === undefined || state.end === 'failed') attributes.push('color=red');
  if (state?.aggregate) attributes.push('shape=invhouse');
  return `  ${quoted(name)}${attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`};`;
}

/** The same graph as a Mermaid state diagram. */
export function toMermaid(blueprint: Blueprint): string {
  const names = namesOf(blueprint);
  const ids = new Map(names.map((name, index) => [name, `s${index}`]));
  const lines = ['stateDiagram-v2', '  direction LR'];
  for (const [name, id] of ids) lines.push(`  state "${mermaidText(name)}" as ${id}`);
  lines.push(`  [*] --> ${ids.get(blueprint.start)}`);
  for (const { name, to } of blueprint.states.values()) {
    for (const target of to) lines.push(`  ${ids.get(name)} --> ${ids.get(target)}`);
  }
  for (const name of names) {
    if (isEnd(blueprint.states.get(name))) lines.push(`  ${ids.get(name)} --> [*]`);
  }
  return `${lines.join('\n')}\n`;
}

/** The states, and `failed` where it is a target without being a state. */
function namesOf({ states }: Blueprint): string[] {
  const names = new Set(states.keys());
  for (const { to } of states.values()) for (const target of to) names.add(target);
  return [...names];
}

function isEnd(state: State | undefined): boolean {
  return state === undefined || state.end !== null;
}

function quoted(name: string): string {
  return `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function mermaidText(name: string): string {
  return name.replaceAll('"', '#quot;').replaceAll('\n', ' ');
}
