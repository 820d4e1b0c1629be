/** `POST /oauth/token`, `/oauth/revoke`, `/oauth/introspect` (§5.3, §5.4): forms in, JSON out. */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, json, type Route, route } from '../http/call.ts'
import { FORM_TYPES, formOf, type Parameters } from './form.ts'
import { type GrantDeps, give, grantTypeOf } from './grants.ts'
import { introspect, revoke, type TokenQuestions } from './introspection.ts'
import { answering, NO_STORE } from './refusal.ts'

export function tokenRoutes(deps: GrantDeps & TokenQuestions): Route[] {
  return [
    form('/oauth/token', async (call, parameters) => {
      grantTypeOf(parameters)
      const client = await deps.authenticate(call, parameters)
      const { id, name } = client
      const actor = actorOf(call, { kind: 'client', id, name })
      const issued = await give(deps, { client, parameters, actor })
      return json(200, issued, { ...NO_STORE })
    }),
    form('/oauth/revoke', (call, parameters) => revoke(deps, call, parameters)),
    form('/oauth/introspect', (call, parameters) => introspect(deps, call, parameters)),
  ]
}

const form = (path: string, act: (call: Call, parameters: Parameters) => Promise<Answer>): Route =>
  route(path, {
    POST: {
      // An empty body is a form without parameters: told what it lacks like any other.
      body: 'optional',
      accepts: FORM_TYPES,
      handle: (call) => answering(async () => act(call, formOf(call))),
    },
  })
