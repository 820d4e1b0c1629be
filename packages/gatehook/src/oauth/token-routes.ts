/** `POST /oauth/token`, `/oauth/revoke`, `/oauth/introspect` (§5.3, §5.4): forms in, JSON out. */
import { type Answer, type Call, type Endpoint, json } from '../http/call.ts'
import { FORM_TYPES, formOf, type Parameters } from './form.ts'
import { type GrantDeps, give, grantTypeOf } from './grants.ts'
import { introspect, revoke, type TokenQuestions } from './introspection.ts'
import { answering, NO_STORE } from './refusal.ts'

export function tokenEndpoints(deps: GrantDeps & TokenQuestions): Endpoint[] {
  return [
    endpoint('/oauth/token', async (call, parameters) => {
      grantTypeOf(parameters)
      const client = await deps.authenticate(call, parameters)
      return json(200, await give(deps, client, parameters), { ...NO_STORE })
    }),
    endpoint('/oauth/revoke', (call, parameters) => revoke(deps, call, parameters)),
    endpoint('/oauth/introspect', (call, parameters) => introspect(deps, call, parameters)),
  ]
}

const endpoint = (
  path: string,
  act: (call: Call, parameters: Parameters) => Promise<Answer>,
): Endpoint => ({
  kind: 'oauth',
  path,
  methods: {
    POST: {
      authenticated: false,
      // An empty body is a form without parameters: told what it lacks like any other.
      body: 'optional',
      accepts: FORM_TYPES,
      handle: (call) => answering(async () => act(call, formOf(call))),
    },
  },
})
