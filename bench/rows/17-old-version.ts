/** Row 17: what two changes between versions cost on a page of 20. */
import { checkPage, pagesOf } from '../asks.ts'
import { gatehook } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { Ask } from '../load.ts'
import type { LoadRow } from '../row.ts'

const users = 100_000
const contender = gatehook({ users, service: 'versions' })

/** Cursors are not bound to a version: the same pages in each. */
const pagesIn = (version: string) => async (url: string) =>
  (await pagesOf(url, { from: 0, to: users, step: 10 })).map((ask) => ({
    ...ask,
    target: ask.target.replace('/api/v2/', `/api/${version}/`),
  }))

interface Old {
  readonly id: number
  readonly first: string
  readonly last: string
  readonly mail: string
  readonly letters: number
  readonly created_at: string
}

/** The oldest version's page, with its rows made new, must be the page. */
function checkOld(ask: Ask, sample: Sample): string | undefined {
  const { data, ...rest } = JSON.parse(sample.body) as { data: Old[] }
  const rows = data.map(({ first, last, mail, letters, ...row }) => {
    if (letters !== first.length + last.length) return { id: row.id }
    return { ...row, name: `${first} ${last}`, email: mail }
  })
  return checkPage(ask, { ...sample, body: JSON.stringify({ data: rows, ...rest }) })
}

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '17',
    title: 'cursor page of 20 in the oldest of three versions, two changes below the newest',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      { name: 'newest', contender, asks: pagesIn('v3'), check: checkPage },
      { name: 'two changes', contender, asks: pagesIn('v1'), check: checkOld },
    ],
    targets: [{ of: 'two changes', to: 'newest', least: 0.87 }],
  },
]
