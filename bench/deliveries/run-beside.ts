/**
 * `npm run bench:beside [-- --rounds N --seconds N --row 13|14|15|20|21 --attack NAME
 * --database sqlite|postgres --json --figures FILE]`: rows 13, 14 and 20, the API during
 * deliveries; row 15, a noisy neighbour; row 21, a neighbour during attacks.
 */
import { parseArgs } from 'node:util'
import { attackFigures, attackNames, attackRows, printAttacks } from '../beside/main.ts'
import type { DatabaseName } from '../database.ts'
import { type Figure, writeFigures } from '../figures.ts'
import { besideNames, besideRow } from './beside.ts'
import { neighbourRow } from './neighbour.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    row: { type: 'string', multiple: true, default: [...besideNames, '15', '21'] },
    attack: { type: 'string', multiple: true, default: attackNames },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
    json: { type: 'boolean', default: false },
    figures: { type: 'string' },
  },
})
const unknown = values.attack.find((name) => !attackNames.includes(name))
if (unknown !== undefined) throw new Error(`${unknown} is none of: ${attackNames.join(', ')}`)
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const databases = values.database as DatabaseName[]
const figures: Figure[] = []
for (const name of besideNames.filter((each) => values.row.includes(each))) {
  for (const database of databases) {
    figures.push(...(await besideRow(name, { database, rounds, seconds })))
  }
}
if (values.row.includes('15')) figures.push(...(await neighbourRow(rounds)))
if (values.row.includes('21')) {
  const results = await attackRows(databases, values.attack, 3 * seconds, console.error)
  figures.push(...attackFigures(results))
  if (values.json) console.log(JSON.stringify(results, null, 2))
  else printAttacks(results)
}
writeFigures(values.figures, figures)
