/**
 * `/oauth/userinfo` (§16.10, OpenID Connect Core §5.3): the current claims about the person of an
 * access token, as far as its scopes open them.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Database } from '../../platform/storage/database.ts'
import { b } from '../../protocol/fields/members.ts'
import { bearerChallenge, parseAuthorization } from '../../protocol/http/authorization.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement, operation, respond } from '../../protocol/http/operation.ts'
import type { Identify } from '../access/authenticate.ts'
import { resourceMetadataUrl } from '../access/protected-resources.ts'
import type { SignInApi } from '../people/login.ts'
import { identityClaims } from '../tokens/id-token.ts'
import { NO_STORE, OauthError, respondWithErrors } from './oauth-error.ts'
import { FORM_TYPES } from './parameters.ts'

const userinfo = b
  .object({
    sub: b.text().describe('The person: the `sub` of its ID tokens.').example('42'),
    name: b.text().optional().describe('With the scope `profile`.').example('Ada'),
    email: b.text().optional().describe('With the scope `email`.').example('ada@example.com'),
    email_verified: b
      .bool()
      .optional()
      .describe('`admin` set the address, or the person confirmed it by a mail.')
      .example(true),
  })
  .named('Userinfo')

/** RFC 6750 §3.1. */
const userinfoError = b
  .object({
    error: b.openSet(['invalid_token', 'insufficient_scope', 'invalid_request']),
    error_description: b
      .text()
      .describe('A sentence for people.')
      .example('The token has expired.'),
    request_id: b.text().optional(),
  })
  .example({ error: 'invalid_token', error_description: 'The token has expired.' })
  .named('UserinfoError')

const userinfoOptions = {
  summary: 'Read the person of an access token (OpenID Connect Core §5.3)',
  output: userinfo,
  errors: ['not_found'],
  failure: userinfoError,
} as const

export const userinfoOperations = {
  read: operation('GET /oauth/userinfo', { id: 'get_userinfo', ...userinfoOptions }),
  post: operation('POST /oauth/userinfo', {
    id: 'post_userinfo',
    ...userinfoOptions,
    input: {},
    body: 'optional',
    accepts: FORM_TYPES[0]!,
  }),
}

interface UserinfoDeps {
  readonly db: Database
  readonly identify: Identify
  readonly people: Pick<SignInApi, 'findPerson'>
  readonly issuer: () => string
  readonly hasOpenid: boolean
}

export const userinfoRoutes = (deps: UserinfoDeps): Route[] =>
  [userinfoOperations.read, userinfoOperations.post].map((each) =>
    implement(each, (call) =>
      respondWithErrors(async () => respond(each, await readUserinfo(deps, call), { ...NO_STORE })),
    ),
  )

async function readUserinfo(deps: UserinfoDeps, call: Call) {
  if (!deps.hasOpenid) throw new Failure('not_found')
  const { scheme } = parseAuthorization(call.headers.authorization ?? '')
  const principal = scheme === 'bearer' ? await deps.identify(call) : undefined
  if (!principal) throw refuse(deps, call, scheme === 'bearer' ? 'invalid_token' : undefined)
  call.identified = principal
  const { kind, scopes, scope, subject } = principal
  if (kind !== 'person' || !scopes.has('openid')) throw refuse(deps, call, 'insufficient_scope')
  const person = await deps.people.findPerson(deps.db, scope, subject)
  if (!person) throw refuse(deps, call, 'invalid_token')
  return { sub: subject, ...identityClaims(person, scopes) }
}

/** Returns the error with its challenge (RFC 6750 §3). */
function refuse(
  { issuer }: UserinfoDeps,
  { path }: Call,
  error?: 'invalid_token' | 'insufficient_scope',
) {
  const metadata = resourceMetadataUrl(issuer(), path)
  const challenge = bearerChallenge({ error, scopes: ['openid'], metadata })
  const isForbidden = error === 'insufficient_scope'
  return new OauthError(
    isForbidden ? error : 'invalid_token',
    isForbidden
      ? 'This needs the token of a person with the scope openid.'
      : 'Send a valid access token in the header Authorization.',
    { 'www-authenticate': challenge },
  )
}
