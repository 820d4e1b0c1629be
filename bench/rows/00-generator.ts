/** Row 0: the load generator itself. What it reaches against `fixed` bounds every other row. */
import { checkHello, helloAsk } from '../asks.ts'
import { bare } from '../contenders.ts'
import type { LoadRow } from '../row.ts'

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '0',
    title: 'the load generator against constants',
    facts: { durability: 'not involved', connections: 64, users: 0 },
    sides: (['fixed', 'raw', 'hello'] as const).map((name) => ({
      name,
      contender: bare(name),
      asks: () => [helloAsk()],
      check: checkHello,
    })),
    targets: [{ of: 'fixed', to: 'raw', least: 1.1 }],
  },
]
