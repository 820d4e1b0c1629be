/** Row 17: the cost of two version changes on a page of 20. */

import { gatehook } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { checkPage, pagesOf } from '../requests.ts'
import type { LoadRow } from '../row.ts'

const users = 100_000
const contender = gatehook({ users, service: 'versions' })

/** Returns the same pages in another version; cursors are valid in all. */
const pagesIn = (version: string) => async (url: string) =>
  (await pagesOf(url, { from: 0, to: users, step: 10 })).map((request) => ({
    ...request,
    target: request.target.replace('/api/v2/', `/api/${version}/`),
  }))

interface OldUser {
  readonly id: number
  readonly first: string
  readonly last: string
  readonly mail: string
  readonly letters: number
  readonly created_at: string
}

/** Converts the rows of the oldest version and compares them. */
function checkOld(request: BenchRequest, sample: Sample): string | undefined {
  const { data, ...rest } = JSON.parse(sample.body) as { data: OldUser[] }
  const rows = data.map(({ first, last, mail, letters, ...row }) => {
    if (letters !== first.length + last.length) return { id: row.id }
    return { ...row, name: `${first} ${last}`, email: mail }
  })
  return checkPage(request, { ...sample, body: JSON.stringify({ data: rows, ...rest }) })
}

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '17',
    title: 'cursor page of 20 in the oldest of three versions, two changes below the newest',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      { name: 'newest', contender, requests: pagesIn('v3'), check: checkPage },
      { name: 'two changes', contender, requests: pagesIn('v1'), check: checkOld },
    ],
    targets: [{ of: 'two changes', to: 'newest', least: 0.93 }],
  },
]
