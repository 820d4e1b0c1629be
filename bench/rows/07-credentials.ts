/** Row 7: the same request with an API key, a token and a password. */

import { gatehook } from '../contenders.ts'
import type { BenchRequest } from '../load.ts'
import {
  clientAt,
  clientTokenRequest,
  many,
  PASSWORD,
  personAt,
  postJson,
  tokensOf,
} from '../oauth.ts'
import { checkUser, firstUserId, get, seeded, USERS } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 10_000
/** More than the token cache holds, so that each use is a cache miss. */
const COLD_TOKENS = 20_000
const contender = gatehook({ users, own: 'credentials' })

async function randomUsers(url: string, credential: (n: number) => Record<string, string>) {
  const first = await firstUserId(url)
  const random = seeded(7)
  return Array.from({ length: COLD_TOKENS }, (_, n): BenchRequest => {
    const id = first + Math.floor(random() * users)
    const headers = { ...credential(n), accept: 'application/json' }
    return { ...get(`${USERS}/${id}`, id), headers }
  })
}

async function warmToken(url: string) {
  const login = { username: await personAt(url), password: PASSWORD }
  const { access_token } = await postJson(`${url}/auth/login`, login)
  return randomUsers(url, () => ({ authorization: `Bearer ${access_token}` }))
}

async function coldTokens(url: string) {
  const request = clientTokenRequest(await clientAt(url))
  const tokens = await many(COLD_TOKENS, async () => (await tokensOf(url, request)).access_token)
  return randomUsers(url, (n) => ({ authorization: `Bearer ${tokens[n]}` }))
}

async function password(url: string) {
  const pair = btoa(`${await personAt(url)}:${PASSWORD}`)
  return randomUsers(url, () => ({ authorization: `Basic ${pair}` }))
}

const keyed = async (url: string) => {
  const { headers } = get(USERS)
  return randomUsers(url, () => ({ ...headers }))
}

const side = (name: string, requests: Side['requests']): Side => ({
  name,
  contender,
  requests,
  check: checkUser,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '7',
    title: 'one row by id with each kind of credential; cold: 20,000 tokens, all cache misses',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      side('API key', keyed),
      side('JWT', warmToken),
      side('Basic', password),
      side('JWT, cold', coldTokens),
    ],
    targets: [
      { of: 'JWT', to: 'API key', least: 0.91 },
      { of: 'Basic', to: 'API key', least: 0.91 },
    ],
  },
]
