/**
 * Row 9: code exchange and refresh-token rotation. Gatehook issues codes on its pages after sign-in
 * and consent; oidc-provider's models issue them without pages.
 */
import { gatehook, program } from '../contenders.ts'
import {
  CLIENT,
  checkTokens,
  clientAt,
  codeRequest,
  codesAt,
  many,
  refreshRequest,
  tokensOf,
} from '../oauth.ts'
import type { LoadRow } from '../row.ts'

const check = checkTokens(true)
const CODES = 4000
/** Many more than connections, so that a session has one request in flight. */
const SESSIONS = 512
const gatehookSide = gatehook({ users: 1, own: 'oauth' })
const oidcSide = program('oidc')

const gatehookCodes = async (url: string, count: number) => {
  const [client, codes] = [await clientAt(url), await codesAt(url, count)]
  return codes.map((code) => codeRequest(client, code))
}

const oidcCodes = async (url: string, count: number) => {
  const response = await fetch(`${url}/codes?count=${count}`)
  return ((await response.json()) as string[]).map((code) => codeRequest(CLIENT, code))
}

const sessions = async (url: string, codes: typeof gatehookCodes, client: typeof clientAt) => {
  const requests = await codes(url, SESSIONS)
  const tokens = await many(SESSIONS, () => tokensOf(url, requests.pop()!))
  const credentials = await client(url)
  return tokens.map(({ refresh_token }) => refreshRequest(credentials, refresh_token!))
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
    title: 'rotation of refresh tokens, 512 sessions in turn, JWT access tokens (ES256)',
    facts,
    sides: [
      {
        name: 'gatehook',
        contender: gatehookSide,
        requests: (url) => sessions(url, gatehookCodes, clientAt),
        check,
      },
      {
        name: 'oidc-provider',
        contender: oidcSide,
        requests: (url) => sessions(url, oidcCodes, async () => CLIENT),
        check,
      },
    ],
    targets,
  },
  {
    kind: 'load',
    name: '9@code',
    title: `code exchange with PKCE, ${CODES} new codes per round`,
    facts,
    each: CODES,
    sides: [
      {
        name: 'gatehook',
        contender: gatehookSide,
        requests: (url) => gatehookCodes(url, CODES),
        check,
      },
      {
        name: 'oidc-provider',
        contender: oidcSide,
        requests: (url) => oidcCodes(url, CODES),
        check,
      },
    ],
    targets,
  },
]
