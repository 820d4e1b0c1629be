/** Row 0: the load generator itself. Its rate against `fixed` bounds every other row. */

import { bare } from '../contenders.ts'
import { checkHello, helloRequest } from '../requests.ts'
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
      requests: () => [helloRequest()],
      check: checkHello,
    })),
    targets: [{ of: 'fixed', to: 'raw', least: 1.1 }],
  },
]
