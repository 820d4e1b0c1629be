/** Row 8: tokens of a client's own. */
import { gatehook, program } from '../contenders.ts'
import { CLIENT, checkTokens, clientAt, clientTokenAsk } from '../oauth.ts'
import type { LoadRow } from '../row.ts'

const check = checkTokens(false)
const fixed = () => [clientTokenAsk(CLIENT)]

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '8',
    title: 'client credentials by Basic, JWT access tokens (ES256)',
    facts: { durability: 'nothing to store but the client', connections: 32, users: 0 },
    sides: [
      {
        name: 'gatehook',
        contender: gatehook({ users: 1, own: 'oauth' }),
        asks: async (url) => [clientTokenAsk(await clientAt(url))],
        check,
      },
      { name: 'only signing', contender: program('signing'), asks: fixed, check },
      // For comparison: what remains once a bare one knows the engine's way to the socket, too.
      {
        name: 'only signing, together',
        contender: program('signing', '--together'),
        asks: fixed,
        check,
      },
      { name: 'oidc-provider', contender: program('oidc'), asks: fixed, check },
    ],
    targets: [
      { of: 'gatehook', to: 'only signing', least: 0.85 },
      { of: 'gatehook', to: 'oidc-provider', least: 2 },
    ],
  },
]
