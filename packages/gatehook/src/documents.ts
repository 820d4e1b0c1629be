/**
 * The operations of the engine, and the OpenAPI documents that describe them: `platform` for
 * clients and people, `admin` for the administration and the console. Pure. The documents of
 * resources are in `declare/resources/openapi.ts`.
 */

import type { Catalog } from './declare/resources/catalog.ts'
import { hasMailNames, signInResource } from './declare/resources/directory.ts'
import { listEventSamples } from './declare/resources/event-samples.ts'
import { listAllEventTypes, postedEventTypes } from './declare/resources/event-type-list.ts'
import { openApiDocument } from './declare/resources/openapi.ts'
import { schemaName } from './declare/resources/openapi-words.ts'
import { resourceOverviewOperations } from './declare/resources/overview.ts'
import type { ResourceDefinition } from './declare/resources/resource.ts'
import { listScopeChanges, listScopes } from './declare/resources/scopes.ts'
import { declaredSecrets } from './declare/resources/service-secrets.ts'
import { versionOperations } from './declare/versions/operations.ts'
import { eventOperations } from './history/events/operations.ts'
import {
  customerOperations,
  keyOperations,
  protectedOperation,
  scopeOperations,
} from './identity/access/operations.ts'
import { describeScope } from './identity/access/scope-words.ts'
import { verificationOperations } from './identity/access/verification.ts'
import { clientOperations } from './identity/oauth/client-operations.ts'
import { issuerOperations } from './identity/oauth/issuer-operations.ts'
import {
  consentOperations,
  metadataOperations,
  oauthOperations,
} from './identity/oauth/operations.ts'
import { userinfoOperations } from './identity/oauth/userinfo.ts'
import {
  passwordMailOperations,
  signUpOperations,
  usernameOperations,
} from './identity/people/account-mail.ts'
import { consoleOperations } from './identity/people/console-operations.ts'
import { personOperations } from './identity/people/operations.ts'
import { operatorOperations } from './identity/people/operator-administration.ts'
import { operatorSessionOperations } from './identity/people/operator-sessions.ts'
import {
  operatorPasskeyOperations,
  passkeyOperations,
} from './identity/people/passkey-operations.ts'
import { personSessionOperations } from './identity/people/person-sessions.ts'
import { signInOperations } from './identity/people/sign-in-operations.ts'
import { tokenOperations } from './identity/tokens/operations.ts'
import { erasureOperations, personErasureOperations } from './operate/erasure/operations.ts'
import { keyUsageOperations } from './operate/monitoring/key-usage.ts'
import { monitoringOperations } from './operate/monitoring/operations.ts'
import { creationsOperation } from './operate/monitoring/operator-creations.ts'
import { versionNoticeOperations } from './operate/monitoring/version-notices.ts'
import { versionTrafficOperations } from './operate/monitoring/version-operations.ts'
import { restoreOperations } from './operate/restore/operations.ts'
import { searchOperations } from './operate/search/operations.ts'
import {
  auditOperations,
  clockOperations,
  probeOperations,
  systemOperations,
} from './operate/system/operations.ts'
import { jobOperations } from './outbound/jobs/operations.ts'
import { allEventOperations } from './outbound/webhooks/event-overview.ts'
import { webhookOperations } from './outbound/webhooks/operations.ts'
import { overviewOperations } from './outbound/webhooks/overview-operations.ts'
import { mcpOperations } from './pages/mcp/operations.ts'
import { portalDataOperations } from './pages/portal/data-operations.ts'
import { portalKeyOperations, sessionOperations } from './pages/portal/operations.ts'
import { linkOperations } from './pages/portal/portal.ts'
import type { JsonSchema } from './protocol/fields/json-schema.ts'
import { specsOf } from './protocol/fields/members.ts'
import { secretNames } from './protocol/fields/secret-names.ts'
import type { OperationData } from './protocol/http/operation-data.ts'
import { engineDocument, type OpenApiDocument } from './protocol/openapi/document.ts'
import {
  describeOperations,
  type OperationPolicy,
  templateOf,
} from './protocol/openapi/operations.ts'
import { ref } from './protocol/openapi/parts.ts'
import { publishDocument } from './protocol/openapi/publish.ts'
import { documentOperations } from './protocol/openapi/routes.ts'
import { engineRoutes, type Permission } from './route-table.ts'

export const DOCUMENTS = ['platform', 'admin'] as const

type ServiceInVersions = Pick<Catalog, 'service' | 'versions'>

/** Returns the declared operations of the engine for a service. */
export function engineOperations({
  service,
  versions,
}: ServiceInVersions): readonly OperationData[] {
  const scopes = listScopes(service)
  const eventTypes = listAllEventTypes(service)
  const admin = { scopes, versions }
  const person = signInResource(service.resources)
  return [
    eventOperations({ types: eventTypes, external: postedEventTypes(service) }),
    webhookOperations({ eventTypes, allowPrivate: false, versions: () => versions }),
    customerOperations,
    keyOperations(admin),
    scopeOperations,
    verificationOperations,
    resourceOverviewOperations,
    searchOperations,
    keyUsageOperations,
    erasureOperations,
    monitoringOperations,
    clientOperations(admin),
    issuerOperations(admin),
    ...(person ? personGroups(admin, person) : []),
    linkOperations(admin),
    sessionOperations(person?.signsIn?.names ?? 'installation'),
    portalKeyOperations(admin),
    portalDataOperations,
    operatorOperations,
    { credentials: creationsOperation },
    operatorSessionOperations,
    overviewOperations,
    allEventOperations,
    jobOperations,
    versionOperations,
    versionTrafficOperations,
    versionNoticeOperations,
    clockOperations,
    auditOperations,
    systemOperations,
    restoreOperations,
    probeOperations,
    documentOperations,
    mcpOperations,
    consoleOperations,
    operatorPasskeyOperations,
    { protectedOperation },
    tokenOperations,
    oauthOperations,
    userinfoOperations,
    metadataOperations,
    consentOperations,
  ].flatMap((operations) => Object.values<OperationData>(operations))
}

/** Returns the operations of a service in which the rows of a resource sign in. */
function personGroups(
  admin: Parameters<typeof personOperations>[0],
  resource: ResourceDefinition,
): readonly Readonly<Record<string, OperationData>>[] {
  const { fields } = resource
  const { username, names, signUp, passwordReset } = resource.signsIn!
  return [
    signInOperations(names),
    passkeyOperations,
    passwordReset ? passwordMailOperations(names) : {},
    hasMailNames(resource) ? usernameOperations : {},
    signUp ? signUpOperations(fields, new Set([username, ...signUp.fields]), names) : {},
    personOperations(admin, fields),
    personSessionOperations,
    personErasureOperations,
  ]
}

/** Returns the names of secret fields of the service, in every version, and of secret inputs. */
export function secretFieldNames(service: ServiceInVersions): ReadonlySet<string> {
  const inputs = engineOperations(service).map(({ input = {} }) => specsOf(input))
  return declaredSecrets(service.service).union(new Set(inputs.flatMap(secretNames)))
}

/** Returns the document of a path; paths under `/api` are in those of the versions. */
const documentOf = ({ path }: Pick<OperationData, 'path'>): string | undefined => {
  if (path.startsWith('/api/')) return undefined
  return /^\/(admin|console)(\/|$)/.test(path) ? 'admin' : 'platform'
}

/** The public operations that the document of every version contains. */
const VERSION_PATHS = /^\/(api|events|webhooks|deliveries)(\/|$)/

/** The security of each value of the column `callers`; undefined: the default of the document. */
const securityOf: Readonly<Record<Permission['callers'], OperationPolicy['security']>> = {
  anyone: [],
  proof: [],
  signedIn: [{ Bearer: [] }],
  visitor: [],
  loopback: [{}, { ApiKey: [] }, { Bearer: [] }],
  credential: undefined,
  account: [{ Bearer: [] }, { Basic: [] }],
  administration: [
    { ApiKey: [] },
    { Bearer: [] },
    { Basic: [] },
    { ConsoleSession: [], ConsoleHeader: [] },
  ],
  console: [{ ConsoleSession: [], ConsoleHeader: [] }],
  portal: [{ PortalSession: [], PortalHeader: [] }],
}

const rows = new Map(engineRoutes.map((row) => [`${row.method} ${row.path}`, row]))

function policyOf({ method, path }: OperationData): OperationPolicy {
  const { callers, scope } = rows.get(`${method} ${path}`)!
  const security = securityOf[callers]
  return { scope, ...(security && { security }) }
}

/** Returns the document of a version (`v1`), or of a part of the engine (`platform`, `admin`). */
export function openApiOf(name: string, catalog: Catalog): OpenApiDocument {
  const { service, versions } = catalog
  const operations = engineOperations(catalog)
  if (versions.includes(name)) {
    const engine = describeOperations(
      operations.filter(({ path }) => VERSION_PATHS.test(path)),
      {
        policyOf,
        pathOf: ({ path }) => templateOf(path.replace(/^\/api\//, `/api/${name}/`)),
        versions,
      },
    )
    return openApiDocument(catalog, name, engine)
  }
  return engineDocument({
    title: `${service.name}: ${name}`,
    operations: operations.filter((operation) => documentOf(operation) === name),
    scopes: [...listScopes(service)].sort(),
    policyOf,
    versions,
  })
}

/** The published documents, each generated at its first use. */
export interface Documents {
  /** The names under `/openapi/`: the versions, then those of the engine. */
  readonly names: readonly string[]
  /** Returns a document; undefined for an unknown name. */
  get(name: string): OpenApiDocument | undefined
}

export function openApiDocuments(catalog: Catalog, readsReplicas: boolean): Documents {
  const names = [...catalog.versions, ...DOCUMENTS]
  const published = new Map<string, OpenApiDocument>()
  return {
    names,
    get(name) {
      if (!names.includes(name)) return undefined
      const document = published.get(name) ?? publish(name, catalog, readsReplicas)
      published.set(name, document)
      return document
    },
  }
}

function publish(name: string, catalog: Catalog, readsReplicas: boolean): OpenApiDocument {
  const { service, versions, newest } = catalog
  const scopes = [...listScopes(service)].sort()
  const changes = listScopeChanges(service)
  const wordsOf = (scope: string) => describeScope(scope, service.name, changes)
  const events = versions.includes(name) ? listEventSamples(catalog, name) : []
  return publishDocument(openApiOf(name, catalog), {
    version: versions.includes(name) ? name : newest,
    scopes: Object.fromEntries(scopes.map((scope) => [scope, wordsOf(scope)])),
    info: service.info,
    readsReplicas,
    events: events.map(({ type, scope, collection, object }) => ({
      type,
      scope,
      object,
      schema: objectSchema(catalog, collection),
    })),
  })
}

/** The object of an event is a row of its collection, or any object. */
function objectSchema({ apiEntries }: Catalog, collection: string | undefined): JsonSchema {
  const entry = collection === undefined ? undefined : apiEntries.get(collection)
  return entry
    ? ref('schemas', schemaName(entry.definition))
    : { type: 'object', description: 'The object after the change.', additionalProperties: true }
}
