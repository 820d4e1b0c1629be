/** The table of figures in `README.md`: some of those that `npm run bench:page` stored. */
import { type Figure, isReached } from '../../bench/figures.ts'
import { valueText } from './performance.ts'

/** Returns the figures of a line, in their order. */
type Select = (figures: readonly Figure[]) => readonly Figure[]

/** Figures of a row on SQLite, whose subjects begin with a text; `of`: in the order of these. */
const of =
  (row: string, ...subjects: readonly string[]): Select =>
  (figures) => {
    const onSqlite = figures.filter(
      ({ row: name, database, unit }) => name === row && database === 'sqlite' && unit !== 'MB',
    )
    return subjects.flatMap(
      (text) => onSqlite.find(({ subject }) => subject.startsWith(text)) ?? [],
    )
  }

const together =
  (...parts: readonly Select[]): Select =>
  (figures) =>
    parts.flatMap((part) => part(figures))

/** The largest latencies beside an attack, of each database. */
const worstAttacks: Select = (figures) =>
  ['sqlite', 'postgres'].flatMap((name) => {
    const latencies = figures.filter(
      ({ row, database, unit }) => row === '21' && database === name && unit !== 'MB',
    )
    return latencies.toSorted((a, b) => b.value.median - a.value.median).slice(0, 1)
  })

const lines: readonly (readonly [subject: string, select: Select])[] = [
  [
    'cursor page of 20 vs NestJS with TypeORM, Platformatic DB, Strapi, Directus',
    of(
      '2@pages',
      ...['NestJS', 'Platformatic', 'Strapi', 'Directus'].map((n) => `gatehook ÷ ${n}`),
    ),
  ],
  ['page with its total vs NestJS with TypeORM', of('2@totals', 'gatehook ÷ NestJS')],
  [
    'cursor page of 20 vs handwritten Fastify with the same duties',
    of('1@100k', 'gatehook ÷ handmade full'),
  ],
  [
    'cost of a page at row 1,000,000 vs at row 20 (smaller is better): by id, by time, all tied',
    together(...['3@id', '3@time', '3@tied'].map((row) => of(row, 'gatehook'))),
  ],
  ['cost of a page with its total, 1M rows vs 1k (smaller is better)', of('4', 'gatehook')],
  ['one row by id vs an empty Fastify response', of('5', 'gatehook')],
  [
    '`POST /orders`, on disk before the response, vs the same without a store',
    of('6', 'gatehook ÷ no store'),
  ],
  [
    'client credentials, rotated refresh tokens, exchanged codes vs oidc-provider in memory',
    together(...['8', '9@refresh', '9@code'].map((row) => of(row, 'gatehook ÷ oidc-provider'))),
  ],
  ['deliveries, durable, vs a bare undici loop that signs the same bytes', of('10', 'gatehook')],
  [
    'deliveries vs graphile-worker, pg-boss by the same transport',
    of('12', 'gatehook on SQLite ÷ graphile-worker', 'gatehook on SQLite ÷ pg-boss'),
  ],
  [
    'reads while deliveries drain at full speed vs quiet; their slowest hundredth',
    (figures) => figures.filter(({ row, database }) => row === '14' && database === 'sqlite'),
  ],
  [
    'event to arrival (smaller is better) beside a hanging and a flooding customer vs quiet',
    of('15', 'noisy ÷ quiet, default rates'),
  ],
  [
    "another customer's p95 (smaller is better) beside the worst attack: SQLite, PostgreSQL",
    worstAttacks,
  ],
]

const bold = (figure: Figure): string =>
  isReached(figure) ? `**${valueText(figure)}**` : valueText(figure)

const target = ({ least, most }: Figure): string =>
  least === undefined ? `≤ ${most}` : String(least)

/** Returns the table, for example of `0.73` with the target `0.85`. */
export function readmeFigures(figures: readonly Figure[]): string {
  const rows = lines.map(([subject, select]) => {
    const selected = select(figures)
    const targets = [...new Set(selected.map(target))]
    return `| ${subject} | ${selected.map(bold).join(', ')} | ${targets.join(', ')} |`
  })
  return ['| subject | ratio (×), larger is better | target |', '|---|---|---|', ...rows].join('\n')
}
