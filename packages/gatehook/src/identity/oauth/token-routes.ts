/** `POST /oauth/token`, `/oauth/revoke` and `/oauth/introspect` (§5.3, §5.4): form in, JSON out. */
import { actorOf } from '../../history/audit/store.ts'
import type { Answer, Call, Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type IntrospectionDeps, introspect, revoke } from './introspection.ts'
import { NO_STORE, respondWithErrors } from './oauth-error.ts'
import { oauthOperations } from './operations.ts'
import { type OauthParameters, parseForm } from './parameters.ts'
import { issueTokens, readGrantType, type TokenGrantDeps } from './token-grants.ts'

type FormDeps = TokenGrantDeps & IntrospectionDeps

/** Adds the parameters of the form, and reports errors as RFC 6749 §5.2. */
const formHandler =
  (handle: (call: Call, parameters: OauthParameters) => Promise<Answer>) => (call: Call) =>
    respondWithErrors(async () => handle(call, parseForm(call)))

export const tokenRoutes = (deps: FormDeps): Route[] => [
  implement(
    oauthOperations.token,
    formHandler(async (call, parameters) => {
      readGrantType(parameters)
      const client = await deps.authenticateClient(call, parameters)
      const { id, name, scope } = client
      const actor = actorOf(call, { kind: 'client', id, name, scope })
      const response = await issueTokens(deps, { client, parameters, actor })
      return respond(oauthOperations.token, response, { ...NO_STORE })
    }),
  ),
  implement(
    oauthOperations.revoke,
    formHandler((call, parameters) => revoke(deps, call, parameters)),
  ),
  implement(
    oauthOperations.introspect,
    formHandler((call, parameters) => introspect(deps, call, parameters)),
  ),
]
