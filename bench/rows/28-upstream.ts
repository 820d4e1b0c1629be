/** Row 28: the CPU time of a request that an application behind Gatehook answers (§17.5). */
import { gatehook, program } from '../contenders.ts'
import { checkHello, get, helloRequest } from '../requests.ts'
import type { LoadRow } from '../row.ts'

const contender = gatehook({ users: 0, service: 'upstream' })
const MOST_CPU_MICROS = 300

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '28',
    title: 'a request to an application, directly and through Gatehook',
    facts: { durability: 'reads only', connections: 32, users: 0 },
    sides: [
      // It starts first, and answers the other sides as well.
      {
        name: 'directly',
        contender: program('application'),
        requests: () => [helloRequest()],
        check: checkHello,
      },
      {
        name: 'forwarded',
        contender,
        requests: () => [get('/api/v2/bytes')],
        check: checkHello,
        mostCpuMicros: MOST_CPU_MICROS,
      },
      {
        name: 'with output',
        contender,
        requests: () => [get('/api/v2/hello')],
        check: checkHello,
        mostCpuMicros: MOST_CPU_MICROS,
      },
    ],
    targets: [],
  },
]
