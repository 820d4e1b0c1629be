/**
 * `npm run bench:deliveries [-- --rounds N --count N --figures FILE]`: rows 10, 11 and 18
 * (pending). Contenders are separate processes that run in turn. Ratios compare results of one
 * round.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { type Figure, ratioFigure, writeFigures } from '../figures.ts'
import { median, spread, spreadText } from '../statistics.ts'
import type { Measured } from './common.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    count: { type: 'string', default: '40000' },
    pending: { type: 'string', default: '1000000' },
    figures: { type: 'string' },
  },
})
const contender = fileURLToPath(new URL('contender.ts', import.meta.url))
const run = async (name: string, registrations: number, pending: string): Promise<Measured> => {
  const args = [contender, name, values.count, String(registrations), pending]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}
const sides = {
  'bare undici, 20 connections': () => run('bare', 1, '0'),
  'engine, 1 registration': () => run('engine', 1, '0'),
  'engine, 100 of 100 customers': () => run('engine', 100, '0'),
  [`engine, 1 registration, ${values.pending} pending`]: () => run('engine', 1, values.pending),
}
const names = Object.keys(sides)
const results = new Map<string, Measured[]>(names.map((name) => [name, []]))
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const [name, side] of Object.entries(sides)) {
    process.stderr.write(`round ${round}: ${name}\n`)
    results.get(name)!.push(await side())
  }
}
const of = (at: number) => results.get(names[at]!)!
console.table(
  Object.fromEntries(
    names.map((name) => {
      const all = results.get(name)!
      const rates = all.map((result) => result.perSecond)
      return [
        name,
        {
          'per s': median(rates),
          'min–max': `${Math.min(...rates)}–${Math.max(...rates)}`,
          'CPU µs': median(all.map((result) => result.cpuUs)),
          'RSS MB': median(all.map((result) => result.rssMb)),
        },
      ]
    }),
  ),
)
const common = { title: 'deliveries, durable', database: 'sqlite' } as const
const rates = (side: number) => of(side).map((result) => result.perSecond)
const memory = of(3).map((result, round) => result.rssMb - of(1)[round]!.rssMb)
const figures: Figure[] = [
  ratioFigure(
    { ...common, row: '10', subject: 'gatehook ÷ bare undici, same bytes', least: 0.75 },
    rates(1),
    rates(0),
  ),
  ratioFigure(
    { ...common, row: '11', subject: '100 endpoints of 100 customers ÷ one', least: 0.85 },
    rates(2),
    rates(1),
  ),
  ratioFigure(
    { ...common, row: '18', subject: `${values.pending} pending ÷ few`, least: 0.8 },
    rates(3),
    rates(1),
  ),
  {
    ...common,
    row: '18',
    subject: `more memory with ${values.pending} pending`,
    unit: 'MB',
    value: spread(memory),
    most: 60,
  },
]
for (const { row, subject, unit, value, least, most } of figures) {
  console.log(`row ${row}, ${subject}: ${spreadText(value)} ${unit}; target ${least ?? most}`)
}
writeFigures(values.figures, figures)
