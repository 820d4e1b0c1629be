/** Row 1b: one page asked again and again while nothing is written. */
import { checkHello, checkPage, helloAsk, pagesOf } from '../asks.ts'
import { gatehook, handmade, hello } from '../contenders.ts'
import type { LoadRow } from '../row.ts'

const users = 100_000

/** The middle page of a walk over the head of the list. */
const onePage = async (url: string) =>
  (await pagesOf(url, { from: 500, to: 700, step: 20 })).slice(0, 1)

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '1b',
    title: 'the same cursor page of 20 again and again, API key, nothing written',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      { name: 'gatehook', contender: gatehook({ users }), asks: onePage, check: checkPage },
      { name: 'hello', contender: hello(), asks: () => [helloAsk()], check: checkHello },
      {
        name: 'handmade full',
        contender: handmade({ users, full: true }),
        asks: onePage,
        check: checkPage,
      },
    ],
    targets: [{ of: 'gatehook', to: 'hello', least: 0.5 }],
  },
]
