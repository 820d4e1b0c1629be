/** Generates an OpenAPI 3.1 document of operations of the engine. Pure. */
import type { JsonSchema } from '../fields/schema.ts'
import type { OperationData } from '../http/operation-data.ts'
import { describeOperations, type OperationPolicy } from './operations.ts'
import {
  credentialSchemes,
  errorResponses,
  errorSchema,
  headerParameters,
  listParameters,
  responseHeaders,
  securitySchemes,
} from './parts.ts'

export type OpenApiDocument = JsonSchema & { readonly paths: Record<string, JsonSchema> }

interface DocumentOptions {
  readonly title: string
  readonly operations: readonly OperationData[]
  /** Every scope of the installation. */
  readonly scopes: readonly string[]
  readonly policyOf: (operation: OperationData) => OperationPolicy
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
  jobs: 'Jobs of the service’s code: queued, recurring, and handlers of events.',
  keys: 'API keys.',
  monitoring: 'Requests, series and errors of the installation.',
  oauth: 'The authorization server (RFC 6749, RFC 7009, RFC 7662).',
  operators: 'Operators of the console.',
  'operator-sessions': 'Sessions of operators.',
  portal: 'The portal of customers: its session and keys.',
  'portal-links': 'One-time links to the portal.',
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
  const { title, operations, scopes, policyOf } = options
  const { paths, schemas } = describeOperations(operations, { policyOf, hasClosedInputs: true })
  const tags = new Set(
    Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => (operation as { tags: string[] }).tags),
    ),
  )
  return {
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
        ConsoleSession: session('gatehook_console', 'x-gatehook-console'),
        PortalSession: session('gatehook_portal', 'x-gatehook-portal'),
      }),
      ...referencedComponents(paths, {
        parameters: { ...listParameters, ...headerParameters },
        headers: responseHeaders,
        responses: errorResponses,
        schemas: { ...schemas, Error: errorSchema },
      }),
    },
  }
}

type Components = Readonly<Record<string, unknown>>

/** Returns the components whose mark is in the text. */
const pickUsed = (text: string, markOf: (name: string) => string, components: Components) =>
  Object.fromEntries(Object.entries(components).filter(([name]) => text.includes(markOf(name))))

/** Returns the components to which the paths, or other components, refer. */
function referencedComponents(
  paths: unknown,
  components: Readonly<Record<string, Components>>,
): Record<string, Components> {
  const text = JSON.stringify([paths, components])
  return Object.fromEntries(
    Object.entries(components)
      .map(([kind, named]): [string, Components] => [
        kind,
        pickUsed(text, (name) => `"#/components/${kind}/${name}"`, named),
      ])
      .filter(([, named]) => Object.keys(named).length > 0),
  )
}

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

const session = (name: string, header: string): JsonSchema => ({
  type: 'apiKey',
  in: 'cookie',
  name,
  description: `A session of the pages. Changes also need the header \`${header}: 1\`.`,
})
