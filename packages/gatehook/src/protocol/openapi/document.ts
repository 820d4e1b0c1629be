/** Generates an OpenAPI 3.1 document of operations of the engine. Pure. */
import type { JsonSchema } from '../fields/json-schema.ts'
import type { OperationData } from '../http/operation-data.ts'
import { describeOperations, type OperationPolicy } from './operations.ts'
import {
  credentialSchemes,
  errorResponses,
  errorSchemas,
  headerParameters,
  listParameters,
  listSchemas,
  responseHeaders,
  securitySchemes,
} from './parts.ts'
import { withUsedComponents } from './used-components.ts'

export type OpenApiDocument = JsonSchema & { readonly paths: Record<string, JsonSchema> }

interface DocumentOptions {
  readonly title: string
  readonly operations: readonly OperationData[]
  /** Every scope of the installation. */
  readonly scopes: readonly string[]
  readonly policyOf: (operation: OperationData) => OperationPolicy
  /** The versions of the service, oldest first. */
  readonly versions: readonly string[]
}

/** Describes the groups of operations. */
const TAGS: Readonly<Record<string, string>> = {
  audit: 'The audit trail of the installation.',
  auth: 'Sign-in of people, and their sessions.',
  clients: 'OAuth clients.',
  clock: 'The test clock, if it is enabled.',
  console: 'The session of an operator.',
  credentials: 'The credential of the caller.',
  customers: 'Customers and their limits.',
  events: 'Events, as webhooks deliver them.',
  issuers: 'Trusted issuers, whose assertions are exchanged for tokens (RFC 7523).',
  jobs: 'Jobs of the service’s code: queued, recurring, and handlers of events.',
  keys: 'API keys.',
  monitoring: 'Requests, series and errors of the installation.',
  oauth: 'The authorization server (RFC 6749, RFC 7009, RFC 7662).',
  operators: 'Operators of the console.',
  'operator-sessions': 'Sessions of operators.',
  portal: 'The portal of customers: its session and keys.',
  'portal-links': 'One-time links to the portal.',
  restore: 'The quarantine of restored data.',
  resources: 'The declared resources, for programs that use any of them.',
  service: 'The service: links, documents, health, metadata.',
  system: 'Figures and configuration of the node.',
  people: 'People who can sign in.',
  versions: 'Versions of the API, their calendar and usage.',
  webhooks: 'Registrations of receivers, and their deliveries.',
}

/** The document names no release, so that its snapshot changes with the interface only. */
const DOCUMENT_VERSION = '1'

/** The schemes of operations without their own `security`. */
const defaultSecurity = [...credentialSchemes, { OAuth2: [] }]
const ALWAYS_USED = JSON.stringify(defaultSecurity)

export function engineDocument(options: DocumentOptions): OpenApiDocument {
  const { title, operations, scopes, policyOf, versions } = options
  const { paths, schemas } = describeOperations(operations, { policyOf, versions })
  const tags = new Set(
    Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => (operation as { tags: string[] }).tags),
    ),
  )
  return withUsedComponents({
    openapi: '3.1.0',
    info: { title, version: DOCUMENT_VERSION },
    servers: [{ url: '/' }],
    security: defaultSecurity,
    tags: [...tags].sort().map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      securitySchemes: pickUsed(JSON.stringify(paths) + ALWAYS_USED, (name) => `"${name}":[`, {
        ...securitySchemes,
        OAuth2: oauth2(scopes),
        ...sessionSchemes('Console', 'console'),
        ...sessionSchemes('Portal', 'portal'),
      }),
      parameters: { ...listParameters, ...headerParameters },
      headers: responseHeaders,
      responses: errorResponses,
      schemas: { ...schemas, ...listSchemas, ...errorSchemas },
    },
  })
}

type Components = Readonly<Record<string, unknown>>

/** Returns the components whose mark is in the text. */
const pickUsed = (text: string, markOf: (name: string) => string, components: Components) =>
  Object.fromEntries(Object.entries(components).filter(([name]) => text.includes(markOf(name))))

function oauth2(scopes: readonly string[]): JsonSchema {
  const named = Object.fromEntries(scopes.map((scope) => [scope, '']))
  const tokenUrl = '/oauth/token'
  return {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: '/oauth/authorize',
        tokenUrl,
        refreshUrl: tokenUrl,
        scopes: named,
      },
      clientCredentials: { tokenUrl, scopes: named },
    },
  }
}

/** The cookie of a session, and the header by which forms of other sites cannot use it. */
const sessionSchemes = (prefix: string, name: string): Components => ({
  [`${prefix}Session`]: {
    type: 'apiKey',
    in: 'cookie',
    name: `gatehook_${name}`,
    description: 'A session of the pages.',
  },
  [`${prefix}Header`]: {
    type: 'apiKey',
    in: 'header',
    name: `x-gatehook-${name}`,
    description:
      'Any value, `1`. Requests without it are 403, except those that read and have ' +
      '`Sec-Fetch-Site: same-origin`, which browsers send. Other values of it are 403.',
  },
})
