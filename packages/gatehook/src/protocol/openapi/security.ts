/** The security schemes of OpenAPI documents, and the scopes of each operation. Pure. */
import type { JsonSchema } from '../fields/json-schema.ts'
import { objectOf, operationsIn } from './schema-walk.ts'

const TOKEN_URL = '/oauth/token'
/** The validation of tokens (§3.5). */
const BEST_PRACTICES = 'Validated as RFC 8725 (RFC8725) recommends.'

const schemes = (scopes: Readonly<Record<string, string>>): JsonSchema => ({
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The preferred scheme. `Authorization: ApiKey <key>` is equivalent.',
  },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `An access token of \`POST /auth/login\` (RFC 9068). ${BEST_PRACTICES}`,
  },
  Basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'Name and password of a person. From internal networks only. Where sign-in names are ' +
      'unique per customer, `Gatehook-Customer` has the id of the customer, and ' +
      '`Gatehook-Mode` is `live` (default) or `test`.',
  },
  OAuth2: {
    type: 'oauth2',
    description: `Access tokens of OAuth 2.0 with PKCE. ${BEST_PRACTICES}`,
    flows: {
      authorizationCode: {
        authorizationUrl: '/oauth/authorize',
        tokenUrl: TOKEN_URL,
        refreshUrl: TOKEN_URL,
        scopes,
      },
      clientCredentials: { tokenUrl: TOKEN_URL, scopes },
    },
  },
})

/** Adds the schemes, and to each operation the scope that a token of OAuth 2.0 needs. */
export function addSecurity(document: JsonSchema, scopes: Readonly<Record<string, string>>): void {
  const components = objectOf(document.components)
  components.securitySchemes = { ...objectOf(components.securitySchemes), ...schemes(scopes) }
  document.security = withToken(document.security, [])
  for (const { operation } of operationsIn(document.paths)) {
    const scope = operation['x-scope']
    const needed = typeof scope === 'string' ? [scope] : []
    const own = operation.security ?? (needed.length > 0 ? document.security : undefined)
    if (own !== undefined) operation.security = withToken(own, needed)
  }
}

/** Every operation that accepts an access token accepts one of OAuth 2.0. */
function withToken(security: unknown, scopes: readonly string[]): unknown {
  const requirements = (security ?? []) as readonly JsonSchema[]
  const others = requirements.filter((requirement) => requirement.OAuth2 === undefined)
  const acceptsToken = requirements.some((requirement) => requirement.Bearer !== undefined)
  return acceptsToken ? [...others, { OAuth2: scopes }] : others
}
