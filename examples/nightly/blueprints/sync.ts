import { blueprint, finish } from 'capataz';

export default blueprint({
  name: 'sync',
  version: 1,
  states: { copy: { start: true, end: true, handle: () => finish({ copied: 3 }) } },
});
