/** `POST /oauth/token`, `/oauth/revoke` and `/oauth/introspect` (§5.3, §5.4): form in, JSON out. */
import { actorOf } from '../../history/audit/store.ts'
import type { Answer, Call, Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type AssertionGrantDeps, exchangeAssertion } from './assertion-grant.ts'
import { JWT_BEARER_GRANT } from './client.ts'
import { namesClient } from './client-authentication.ts'
import { recordUse } from './client-store.ts'
import { type IntrospectionDeps, introspect, revoke } from './introspection.ts'
import { NO_STORE, respondWithErrors } from './oauth-error.ts'
import { oauthOperations } from './operations.ts'
import { type OauthParameters, parseForm } from './parameters.ts'
import { issueTokens, readGrantType, requireGrant } from './token-grants.ts'

/** The use of a client that registered itself is noted once a day. */
const USE_INTERVAL_MS = 86_400_000

type FormDeps = AssertionGrantDeps & IntrospectionDeps

/** Adds the parameters of the form, and reports errors as RFC 6749 §5.2. */
const formHandler =
  (handle: (call: Call, parameters: OauthParameters) => Promise<Answer>) => (call: Call) =>
    respondWithErrors(async () => handle(call, parseForm(call)))

export const tokenRoutes = (deps: FormDeps): Route[] => [
  implement(
    oauthOperations.token,
    formHandler(async (call, parameters) => {
      const type = readGrantType(parameters)
      if (type === JWT_BEARER_GRANT) {
        const isNamed = namesClient(call.rawHeaders, parameters)
        const client = isNamed ? await deps.authenticateClient(call, parameters) : undefined
        if (client) requireGrant(client, type)
        const response = await exchangeAssertion(deps, { call, client, parameters })
        return respond(oauthOperations.token, response, { ...NO_STORE })
      }
      const client = await deps.authenticateClient(call, parameters)
      const { id, name, scope } = client
      const actor = actorOf(call, { kind: 'client', id, name, scope })
      const response = await issueTokens(deps, { client, parameters, actor })
      const now = deps.clock.now()
      if (client.source === 'registration' && (client.usedAt ?? 0) < now - USE_INTERVAL_MS) {
        await deps.db.write((tx) => recordUse(tx, id, now))
      }
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
