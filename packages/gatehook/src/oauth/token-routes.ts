/** `POST /oauth/token`, `/oauth/revoke` and `/oauth/introspect` (§5.3, §5.4): form in, JSON out. */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, json, type Route, route } from '../http/call.ts'
import { type IntrospectionDeps, introspect, revoke } from './introspection.ts'
import { NO_STORE, respondWithErrors } from './oauth-error.ts'
import { FORM_TYPES, type OauthParameters, parseForm } from './parameters.ts'
import { issueTokens, readGrantType, type TokenGrantDeps } from './token-grants.ts'

export function tokenRoutes(deps: TokenGrantDeps & IntrospectionDeps): Route[] {
  return [
    formRoute('/oauth/token', async (call, parameters) => {
      readGrantType(parameters)
      const client = await deps.authenticateClient(call, parameters)
      const { id, name } = client
      const actor = actorOf(call, { kind: 'client', id, name })
      const response = await issueTokens(deps, { client, parameters, actor })
      return json(200, response, { ...NO_STORE })
    }),
    formRoute('/oauth/revoke', (call, parameters) => revoke(deps, call, parameters)),
    formRoute('/oauth/introspect', (call, parameters) => introspect(deps, call, parameters)),
  ]
}

const formRoute = (
  path: string,
  handle: (call: Call, parameters: OauthParameters) => Promise<Answer>,
): Route =>
  route(path, {
    POST: {
      // An empty body is a form without parameters, so the error names the missing parameter.
      body: 'optional',
      accepts: FORM_TYPES,
      handle: (call) => respondWithErrors(async () => handle(call, parseForm(call))),
    },
  })
