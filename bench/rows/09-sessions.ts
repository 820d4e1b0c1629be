/**
 * Row 9: codes exchanged and refresh tokens rotated. Gatehook's codes come from its pages, where a
 * person signed in and agreed; oidc-provider's are made by its own models, without its pages.
 */
import { gatehook, program } from '../contenders.ts'
import {
  CLIENT,
  checkTokens,
  clientAt,
  codeAsk,
  codesAt,
  many,
  refreshAsk,
  tokensOf,
} from '../oauth.ts'
import type { LoadRow } from '../row.ts'

const check = checkTokens(true)
const CODES = 4000
/** Many more than connections: no session is asked again before it has answered. */
const SESSIONS = 512
const ours = gatehook({ users: 1, own: 'oauth' })
const theirs = program('oidc')

const ourCodes = async (url: string, count: number) => {
  const [client, codes] = [await clientAt(url), await codesAt(url, count)]
  return codes.map((code) => codeAsk(client, code))
}

const theirCodes = async (url: string, count: number) => {
  const response = await fetch(`${url}/codes?count=${count}`)
  return ((await response.json()) as string[]).map((code) => codeAsk(CLIENT, code))
}

const sessions = async (url: string, codes: typeof ourCodes, client: typeof clientAt) => {
  const asks = await codes(url, SESSIONS)
  const tokens = await many(SESSIONS, () => tokensOf(url, asks.pop()!))
  const who = await client(url)
  return tokens.map(({ refresh_token }) => refreshAsk(who, refresh_token!))
}

const facts = {
  durability: 'gatehook FULL, synced before the answer; oidc-provider in memory',
  connections: 32,
  users: 0,
}
const targets = [{ of: 'gatehook', to: 'oidc-provider', least: 1.8 }]

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '9@refresh',
    title: 'refresh tokens rotated, 512 sessions in turn, JWT access tokens (ES256)',
    facts,
    sides: [
      {
        name: 'gatehook',
        contender: ours,
        asks: (url) => sessions(url, ourCodes, clientAt),
        check,
      },
      {
        name: 'oidc-provider',
        contender: theirs,
        asks: (url) => sessions(url, theirCodes, async () => CLIENT),
        check,
      },
    ],
    targets,
  },
  {
    kind: 'load',
    name: '9@code',
    title: `codes exchanged with PKCE, ${CODES} fresh ones a round`,
    facts,
    each: CODES,
    sides: [
      { name: 'gatehook', contender: ours, asks: (url) => ourCodes(url, CODES), check },
      { name: 'oidc-provider', contender: theirs, asks: (url) => theirCodes(url, CODES), check },
    ],
    targets,
  },
]
