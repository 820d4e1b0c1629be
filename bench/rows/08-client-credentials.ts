/** Row 8: the client-credentials grant, and beside it the grant of assertions. */
import { ASSERTION_KEY, assertionRequests, plainAssertionRequest } from '../assertions.ts'
import { gatehook, program } from '../contenders.ts'
import { CLIENT, checkTokens, clientAt, clientTokenRequest } from '../oauth.ts'
import type { LoadRow } from '../row.ts'

const check = checkTokens(false)
const ASSERTIONS = 4000
const gatehookSide = gatehook({ users: 1, own: 'oauth' })
const fixed = () => [clientTokenRequest(CLIENT)]

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '8',
    title: 'client credentials by Basic, JWT access tokens (ES256)',
    facts: { durability: 'only the client is stored', connections: 32, users: 0 },
    sides: [
      {
        name: 'gatehook',
        contender: gatehookSide,
        requests: async (url) => [clientTokenRequest(await clientAt(url))],
        check,
      },
      { name: 'only signing', contender: program('signing'), requests: fixed, check },
      // For comparison: with batched writes, as the engine has.
      {
        name: 'only signing, together',
        contender: program('signing', '--together'),
        requests: fixed,
        check,
      },
      { name: 'oidc-provider', contender: program('oidc'), requests: fixed, check },
    ],
    targets: [
      { of: 'gatehook', to: 'only signing', least: 0.85 },
      { of: 'gatehook', to: 'oidc-provider', least: 2 },
    ],
  },
  {
    kind: 'load',
    name: '8@assertion',
    title: `an assertion of a trusted issuer (ES256), ${ASSERTIONS} new ones per round`,
    facts: { durability: 'FULL: each jti is stored, synced', connections: 32, users: 0 },
    each: ASSERTIONS,
    sides: [
      {
        name: 'assertion',
        contender: gatehookSide,
        requests: (url) => assertionRequests(url, ASSERTIONS),
        check,
      },
      {
        name: 'assertion, RS256',
        contender: gatehookSide,
        requests: (url) => assertionRequests(url, ASSERTIONS, 'RS256'),
        check,
      },
      // For comparison: the cost of the two signatures alone. Nothing is stored.
      {
        name: 'only verifying and signing',
        contender: program('signing', '--together', '--verify', ASSERTION_KEY),
        requests: (url) => Array(ASSERTIONS).fill(plainAssertionRequest(url)),
        check,
      },
      {
        name: 'client credentials',
        contender: gatehookSide,
        requests: async (url) => Array(ASSERTIONS).fill(clientTokenRequest(await clientAt(url))),
        check,
      },
    ],
    targets: [{ of: 'assertion', to: 'client credentials', least: 0.8 }],
  },
]
