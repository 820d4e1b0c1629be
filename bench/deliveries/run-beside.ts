/**
 * `npm run bench:beside [-- --rounds N --seconds N --row 13|15|21 --attack NAME --database NAME
 * --json]`: rows 13 to 15, the API during deliveries, and row 21, a neighbour during attacks.
 */
import { parseArgs } from 'node:util'
import { attackNames, attackRows, printAttacks } from '../beside/main.ts'
import type { DatabaseName } from '../beside/world.ts'
import { besideRows } from './beside.ts'
import { neighbourRow } from './neighbour.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    row: { type: 'string', multiple: true, default: ['13', '15', '21'] },
    attack: { type: 'string', multiple: true, default: attackNames },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
    json: { type: 'boolean', default: false },
  },
})
const unknown = values.attack.find((name) => !attackNames.includes(name))
if (unknown !== undefined) throw new Error(`${unknown} is none of: ${attackNames.join(', ')}`)
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
if (values.row.includes('13')) await besideRows(rounds, seconds)
if (values.row.includes('15')) await neighbourRow(rounds)
if (values.row.includes('21')) {
  const databases = values.database as DatabaseName[]
  const results = await attackRows(databases, values.attack, 3 * seconds, console.error)
  if (values.json) console.log(JSON.stringify(results, null, 2))
  else printAttacks(results)
}
