/** Row 26: the cost of one expanded relation on a page of 20. */
import { gatehook } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { PAGE_SIZE, pagesOf } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 100_000
const contender = gatehook({ users, orders: users, service: 'collections' })

const pages = (parameters: string) => (url: string) =>
  pagesOf(url, { list: '/api/v2/orders', parameters, from: 0, to: users, step: 10 })

interface Order {
  readonly id: number
  readonly user_id?: number
  readonly user?: { readonly id: number; readonly name: string }
}

const check =
  (isExpanded: boolean) =>
  ({ expected }: BenchRequest, { body }: Sample): string | undefined => {
    const { after } = expected as { after: number }
    const { data } = JSON.parse(body) as { data: Order[] }
    if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
    if (data[0]!.id !== after + 1) return `the page begins with ${data[0]!.id}`
    const isValid = data.every(({ user_id, user }) =>
      isExpanded ? typeof user?.name === 'string' : typeof user_id === 'number',
    )
    return isValid ? undefined : 'a row lacks its user'
  }

const side = (name: string, parameters: string): Side => ({
  name,
  contender,
  requests: pages(parameters),
  check: check(parameters !== ''),
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '26',
    title: 'cursor page of 20 orders with the user of each, who are on distant pages',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [side('page', ''), side('expand', '&expand=user')],
    targets: [{ of: 'page', to: 'expand', most: 1.6 }],
  },
]
