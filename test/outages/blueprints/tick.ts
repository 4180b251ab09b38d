import { blueprint, transition } from 'capataz';

export default blueprint({
  name: 'tick',
  version: 1,
  states: {
    tick: { start: true, to: ['done'], handle: () => transition('done') },
    done: { end: true },
  },
});
