/** Row 1: cursor pages of 20 with an API key, spread over the whole list. */

import { gatehook, handmade } from '../contenders.ts'
import { checkPage, pagesOf } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const spreadPages = (users: number) => (url: string) =>
  pagesOf(url, { from: 0, to: users, step: Math.max(10, users / 10_000) })

function row(label: string, users: number): LoadRow {
  const side = (name: string, contender: Side['contender']): Side => ({
    name,
    contender,
    requests: spreadPages(users),
    check: checkPage,
  })
  return {
    kind: 'load',
    name: `1@${label}`,
    title: 'cursor page of 20, API key, about 10,000 different pages in shuffled order',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      side('gatehook', gatehook({ users })),
      side('handmade full', handmade({ users, full: true })),
      side('handmade lean', handmade({ users })),
    ],
    targets: [
      { of: 'gatehook', to: 'handmade full', least: 0.85 },
      { of: 'gatehook', to: 'handmade lean', least: 0.65 },
    ],
  }
}

export const rows = [row('100k', 100_000), row('1M', 1_000_000)]
