/** Row 8: the client-credentials grant. */
import { gatehook, program } from '../contenders.ts'
import { CLIENT, checkTokens, clientAt, clientTokenRequest } from '../oauth.ts'
import type { LoadRow } from '../row.ts'

const check = checkTokens(false)
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
        contender: gatehook({ users: 1, own: 'oauth' }),
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
]
