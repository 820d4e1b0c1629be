/** Row 1b: one page, repeatedly, without writes. */

import { gatehook, handmade, hello } from '../contenders.ts'
import { checkHello, checkPage, helloRequest, pagesOf } from '../requests.ts'
import type { LoadRow } from '../row.ts'

const users = 100_000

/** Returns one page near the head of the list. */
const onePage = async (url: string) =>
  (await pagesOf(url, { from: 500, to: 700, step: 20 })).slice(0, 1)

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '1b',
    title: 'the same cursor page of 20, repeatedly, API key, no writes',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      { name: 'gatehook', contender: gatehook({ users }), requests: onePage, check: checkPage },
      { name: 'hello', contender: hello(), requests: () => [helloRequest()], check: checkHello },
      {
        name: 'handmade full',
        contender: handmade({ users, full: true }),
        requests: onePage,
        check: checkPage,
      },
    ],
    targets: [{ of: 'gatehook', to: 'hello', least: 0.5 }],
  },
]
