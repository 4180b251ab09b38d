/** `npm run kills:rpa-launcher [-- rounds]`: the launcher is killed so often, by default 100 times. */
import { killAround } from './rpa-launcher-kill-around.ts';

const rounds = Number(process.argv[2] ?? 100);
const { unconfirmed } = await killAround(rounds);
console.log(`${rounds} kills, ${unconfirmed} deploy calls looked up: each slot ran once`);
