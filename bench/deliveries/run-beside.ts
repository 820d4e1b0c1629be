/** `npm run bench:beside [-- --rounds N --seconds N]`: rows 13, 14 and 15. */
import { parseArgs } from 'node:util'
import { besideRows } from './beside.ts'
import { neighbourRow } from './neighbour.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
  },
})
await besideRows(Number(values.rounds), Number(values.seconds))
await neighbourRow(Number(values.rounds))
