import { isJsonObject } from '../../std/json.ts';
import type { Fields } from './fields.ts';

/** Names of skills, which travel as strings in old RXON and as objects with a `name` since b4. */
export function skillNames(fields: Fields, name: string): string[] | undefined {
  return fields.array(name)?.map((skill, index) => {
    if (typeof skill === 'string') return skill;
    if (isJsonObject(skill) && typeof skill.name === 'string') return skill.name;
    fields.refuse(`${name}[${index}]`, 'must be a string or an object with a name');
    return '';
  });
}
