/**
 * Composes a running API from a configuration and a service. Reads top to bottom; no module imports
 * it. `assembly/` maps the configuration to the arguments of modules that need more than a line.
 */
import type { AppParts } from './assembly/app-interface.ts'
import { createBackgroundWork } from './assembly/background-work.ts'
import { assembleClients } from './assembly/clients.ts'
import { assembleConsoleApi } from './assembly/console-api.ts'
import { assembleDeliveries } from './assembly/deliveries.ts'
import { assembleDocumentation, errorsUrl } from './assembly/documentation.ts'
import { assembleErasure } from './assembly/erasure.ts'
import { createErrorFormats } from './assembly/error-formats.ts'
import { assembleEventRoutes, assembleEvents } from './assembly/events.ts'
import { endFailedStart } from './assembly/failed-start.ts'
import type { AppOptions, BaseFoundation, Component, Foundation } from './assembly/foundation.ts'
import { assembleJobs } from './assembly/jobs.ts'
import { createLateCalls } from './assembly/late-calls.ts'
import { assembleMcp } from './assembly/mcp.ts'
import { assembleMetrics, isServedByEveryNode } from './assembly/metrics.ts'
import { assembleMonitoring } from './assembly/monitoring.ts'
import { assemblePages } from './assembly/pages.ts'
import { assemblePeople } from './assembly/people.ts'
import { assemblePortal } from './assembly/portal.ts'
import { type PreparedDatabase, prepareDatabase } from './assembly/prepare-database.ts'
import { assembleQuota } from './assembly/quota.ts'
import { assembleReadiness } from './assembly/readiness.ts'
import { openWithReplicas } from './assembly/replicas.ts'
import { assembleResources } from './assembly/resources.ts'
import { assembleSecrets, openVault } from './assembly/secrets.ts'
import { checkServerAtStart } from './assembly/server-checks.ts'
import { identifyStream } from './assembly/stream-identity.ts'
import { assembleSystem } from './assembly/system.ts'
import { assembleTableWork } from './assembly/table-work.ts'
import { assembleTokens } from './assembly/tokens.ts'
import { openTracing, requestTracing } from './assembly/tracing.ts'
import { assembleVerifiers } from './assembly/verifiers.ts'
import { assembleMakers, assembleWebhooks, withMakerReview } from './assembly/webhooks.ts'
import { configureUpstreams } from './declare/forwards/configuration.ts'
import { openVersions } from './declare/versions/versions.ts'
import { openApiDocuments, secretFieldNames } from './documents.ts'
import { actingRecorder, createActing } from './identity/access/acting.ts'
import {
  authenticate,
  authorize,
  identify,
  recognize,
  urlCredential,
  verifyCredential,
} from './identity/access/authenticate.ts'
import { addChallenges } from './identity/access/challenges.ts'
import { crossSite } from './identity/access/cross-site.ts'
import { accessRoutes, protectedRoute } from './identity/access/routes.ts'
import { findActiveKey } from './identity/access/verification.ts'
import { createOauth } from './identity/oauth/api.ts'
import { systemRandom } from './kernel/random.ts'
import { createClock } from './kernel/steady-clock.ts'
import { createListeners, DRAIN_LIMIT_MS, leaveBalancers } from './listeners.ts'
import type { Monitoring } from './operate/monitoring/monitoring.ts'
import { createNodeAddress, type NodeAddress } from './operate/system/node-address.ts'
import { ownBuiltPages } from './pages/assets/assets.ts'
import { headStepNames, type StepsByName } from './pipeline.ts'
import { mountPathOf } from './platform/config/config.ts'
import { makeDataFolder } from './platform/config/environment.ts'
import { refuseUnfinishedTarget } from './platform/storage/move/mark.ts'
import type { After, Endpoint, Step } from './protocol/http/call.ts'
import { addEntityTag, rejectNoneMatch } from './protocol/http/conditional.ts'
import { requireAcceptable } from './protocol/http/content-negotiation.ts'
import { createCors } from './protocol/http/cors.ts'
import { createEgress, shed } from './protocol/http/egress.ts'
import { createIngress } from './protocol/http/ingress.ts'
import { addMountPath } from './protocol/http/mount-path.ts'
import { requireHttps, requireServedHost } from './protocol/http/proxy-trust.ts'
import {
  addCacheHeaders,
  addStrictTransport,
  addWarnings,
  STRICT_TRANSPORT,
} from './protocol/http/response-steps.ts'
import type { HttpServer } from './protocol/http/server.ts'
import { createPerform } from './protocol/idempotency/perform.ts'
import { createLister } from './protocol/lists/list.ts'
import { openApiRoute } from './protocol/openapi/routes.ts'
import { bindActing, bindRoutes, type Permission, permissionsOf } from './route-table.ts'

export interface App extends AppParts {
  /** The callers and scopes of each endpoint, those of declared resources included. */
  readonly permissions: readonly Permission[]
}

/** Throws `ConfigError`, `StorageError`, `DeclarationError`: sentences for the operator. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, log } = options
  const random = options.random ?? systemRandom()
  const clock = createClock(config.testClock, options.clock)
  if (!options.isCommand) configureUpstreams(options.service.definition.upstreams, config.variable)
  makeDataFolder(config)
  const { database, ...reads } = await openWithReplicas(options, clock)
  const address = createNodeAddress({ config, log })
  try {
    await refuseUnfinishedTarget(database)
    await checkServerAtStart(database, options)
    const { db, tracing } = await openTracing(config, options.release, database)
    const vault = await openVault(db, config, random)
    const foundation = { ...options, random, clock, vault, db, tracing, ...reads }
    return await compose(foundation, address)
  } catch (error) {
    throw await endFailedStart(database, options, error)
  }
}

async function compose(base: BaseFoundation, address: NodeAddress): Promise<App> {
  const prepared = await prepareDatabase(base)
  if (base.adoptsNode) await address.adoptRunningNode(base.db)
  const { trail, poll, restore, recent, mayPurge } = prepared
  const { publicUrl } = address
  const foundation: Foundation = { ...base, trail, poll, restore, recent, mayPurge, publicUrl }
  const { config, log, db } = foundation
  const lifecycle = { isDraining: false }
  const secrets = await assembleSecrets(foundation)
  const scopes = new Map<string, string | undefined>()
  const secretFields = secretFieldNames(prepared)
  const { resources } = prepared.service
  const recording = { headStepNames: headStepNames(), operations: scopes, resources, secretFields }
  const monitoring = assembleMonitoring(foundation, recording)
  const modules = await composeModules(foundation, prepared, monitoring)
  const isDraining = () => lifecycle.isDraining
  const ready = assembleReadiness(foundation, prepared, { isDraining, secrets })
  const consoleApi = assembleConsoleApi(foundation, { ...modules, ...ready, monitoring })
  const system = assembleSystem(foundation, prepared, {
    ...modules,
    collections: [...modules.catalog.apiEntries.keys()],
    ready,
    readFigures: consoleApi.readFigures,
  })
  const portal = assemblePortal(foundation, modules, monitoring)
  const served = () => ({ endpoints: publicEndpoints, send: server.sendInner })
  const mcp = assembleMcp(foundation, { ...modules, served })
  const lower = [consoleApi.nodes, system, ...componentsOf(foundation, modules)]
  const tableWork = await assembleTableWork(foundation, prepared, modules)
  const components: Component[] = [...lower, secrets, consoleApi, portal, mcp, ...tableWork]
  const metrics = assembleMetrics(foundation, components, modules.identify, prepared.keys)
  const routes = [...components, metrics].flatMap(({ routes = [] }) => routes)
  const declared = components.flatMap(({ endpoints = [] }) => endpoints)
  const publicEndpoints = [...bindRoutes(routes), ...declared].map(base.readAfter)
  const act = createActing(prepared.administration, modules.versioning.steps.actingVersion)
  const endpoints = [...publicEndpoints, ...bindActing(publicEndpoints, act)]
  const permissions = permissionsOf(endpoints)
  for (const { method, path, scope } of permissions) scopes.set(`${method} ${path}`, scope)
  const server = composeServer(foundation, prepared, modules, endpoints, {
    secretFields,
    observe: metrics.observe,
    ...requestTracing(foundation.tracing, monitoring.observe),
  })
  const work = createBackgroundWork({ ...foundation, components, jobs: consoleApi.jobs })
  return {
    db,
    service: prepared.service,
    versions: prepared.versions,
    firstRun: prepared.firstRun,
    seeded: prepared.seeded,
    administration: modules.administration,
    people: modules.people,
    hasher: modules.hasher,
    mail: modules.mail,
    jobs: modules.jobs,
    erasure: modules.erasure,
    oauth: modules.oauth,
    clock: prepared.keeper,
    versioning: modules.versioning,
    tokens: modules.tokens,
    audit: prepared.trail,
    secrets,
    permissions,
    publicUrl,
    finishIndexes: prepared.indexes.finish,
    openapi: (version) => modules.documents.get(version),
    inject: server.inject,
    server,
    work: work.start,
    runDue: work.runDue,
    async listen() {
      await work.start()
      const bound = await server.listen({ host: config.host, port: config.port })
      if (base.serves !== false) await address.publish(db, bound.port)
      log.flush?.()
      return bound
    },
    async drain() {
      lifecycle.isDraining = true
      await leaveBalancers(server, base)
    },
    async close() {
      lifecycle.isDraining = true
      await Promise.all([server.drain(DRAIN_LIMIT_MS), work.drain()])
      await work.stop()
      await address.withdraw(db)
      await db.close()
    },
  }
}

type Modules = Awaited<ReturnType<typeof composeModules>>

/** Creates the modules, lower ones first. Calls from a lower to a higher one go through `late`. */
async function composeModules(
  foundation: Foundation,
  prepared: PreparedDatabase,
  monitoring: Monitoring,
) {
  const { config, clock, random, log, trail, vault, db, publicUrl } = foundation
  const { service } = prepared
  const late = createLateCalls()
  const events = assembleEvents(foundation, prepared, late)
  const { administration, record, catalog, types } = events
  const documents = openApiDocuments(catalog, config.databaseReadUrls.length > 0)
  const defaultStyle = config.defaultPagination
  const list = createLister({ db, cursorKeys: vault.macKeys('cursor'), publicUrl, defaultStyle })
  const recordChange = actingRecorder(administration)
  const perform = createPerform({ db, clock, vault, recordChange, pending: prepared.pending })
  const wake = late.wakeDeliveries
  const { makers, ...rights } = assembleMakers(foundation, { catalog, types, record, wake })
  const clientModule = assembleClients(foundation, service)
  const issuer = assembleTokens(foundation, { ...events, ...clientModule, list, late })
  const tokens = withMakerReview(issuer, makers, administration.endGivenAccess!)
  const signIn = { ...events, ...rights, perform, list, tokens }
  const { people, sessions, hasher, devices, mail } = assemblePeople(foundation, signIn)
  const { verifiers, cheapVerifiers } = assembleVerifiers(foundation, prepared, tokens, people)
  const identifyCaller = sessions.identifyOr(identify(cheapVerifiers))
  const oauth = createOauth({
    administration,
    ...clientModule,
    tokens,
    devices,
    people,
    identify: identifyCaller,
    findKey: (key, reach) => findActiveKey(prepared, key, reach),
    vault,
    list,
    perform,
    service: service.name,
    lifetimes: { idleS: config.refreshTokenTtlS, absoluteS: config.refreshTokenMaxS },
    issuer: publicUrl,
  })
  const deliveries = assembleDeliveries(foundation, { ...events, ...monitoring })
  const jobs = assembleJobs(foundation, { ...events, ...clientModule, list, perform, recordChange })
  const erasure = assembleErasure(foundation, { ...events, list, perform, monitoring, late })
  const versioning = await openVersions({
    db,
    clock,
    random,
    trail,
    log,
    list,
    definitions: service.versions,
    declared: service,
    vendor: service.vendor,
    strict: config.strictVersion,
    publicUrl,
    identify: identifyCaller,
    record,
  })
  late.bind({
    renderObject: catalog.render,
    coveredBy: types.coveredBy,
    livingVersion: versioning.servedSuccessor,
    wakeDeliveries: deliveries.wake,
    revokeSessionsOfPerson: tokens.revokeSessionsOfPerson,
    evictPerson: people.evict,
    findPerson: people.findPerson,
    signOutEverywhere: people.signOutEverywhere,
  })
  return {
    ...events,
    recordChange,
    cheapVerifiers,
    clientModule,
    sessions,
    currentScopes: rights.currentScopes,
    deliveries,
    documents,
    erasure,
    hasher,
    identify: identifyCaller,
    jobs,
    list,
    mail,
    readRefusals: monitoring.readKeyRefusals,
    oauth,
    people,
    perform,
    ...assembleQuota(foundation, prepared, tokens),
    tokens,
    verifiers,
    versioning,
  }
}

/** The modules as components, in the order in which they start. */
function componentsOf(foundation: Foundation, modules: Modules): readonly Component[] {
  const { publicUrl } = foundation
  const { administration, catalog, list, perform, readRefusals } = modules
  const livingVersion = modules.versioning.servedSuccessor
  const pages = ownBuiltPages()
  return [
    { routes: [openApiRoute(modules.documents, publicUrl), protectedRoute, modules.verification] },
    modules.reservations,
    assemblePages(foundation, catalog.service.name, pages),
    assembleDocumentation(foundation, { ...modules, pages }),
    assembleResources(foundation, { ...modules, ...modules.jobs, ...modules.quota }),
    assembleEventRoutes(foundation, { ...modules, livingVersion }),
    ...assembleWebhooks(foundation, { ...modules, livingVersion, wake: modules.deliveries.wake }),
    modules.deliveries,
    ...modules.jobs.components,
    ...modules.erasure.components,
    { routes: accessRoutes(administration, { list, perform, readRefusals }) },
    modules.tokens,
    modules.people,
    ...modules.mail.components,
    modules.sessions,
    modules.clientModule,
    modules.oauth,
    modules.versioning,
  ]
}

/** The recorders of requests, and the names of secrets that they leave out. */
type ServerObservation = ReturnType<typeof requestTracing> & {
  readonly secretFields: ReadonlySet<string>
}

function composeServer(
  foundation: Foundation,
  prepared: PreparedDatabase,
  modules: Modules,
  all: readonly Endpoint[],
  { observe, ...options }: { observe: After } & ServerObservation,
): HttpServer {
  const { log, clock, random } = foundation
  const egress = createEgress(clock)
  const steps = composeSteps(foundation, prepared, modules, { observe, shed: shed(egress) })
  const endpoints = foundation.serves === false ? all.filter(isServedByEveryNode) : all
  return createListeners(
    foundation,
    { endpoints, steps },
    {
      log,
      clock,
      random,
      // First segments under `/api` that are paths; any other first segment is a version.
      roots: new Set(endpoints.flatMap(({ path }) => /^\/api\/([^/]+)/.exec(path)?.[1] ?? [])),
      egress,
      ingress: createIngress(clock),
      identifyAgain: identifyStream(foundation, modules),
      documentation: errorsUrl(foundation.publicUrl, modules.catalog),
      vendor: prepared.service.vendor,
      explainError: prepared.schema.explain,
      errorFormats: createErrorFormats(foundation),
      ...options,
    },
  )
}

function composeSteps(
  { config, poll, publicUrl }: Foundation,
  { service, keys }: PreparedDatabase,
  { verifiers, cheapVerifiers, people, sessions, identify, quota, versioning }: Modules,
  { observe, shed }: { readonly observe: After; readonly shed: Step },
): StepsByName {
  const cors = createCors(config.corsOrigins === '*' ? '*' : config.corsOrigins.join(','))
  return {
    requireHttps,
    requireServedHost: requireServedHost({ publicUrl: publicUrl(), host: config.host }),
    preflight: cors.preflight,
    refreshState: poll.refresh,
    recognize: recognize(sessions.guard(verifyCredential({ verifiers: cheapVerifiers })), identify),
    limit: quota.limit,
    crossSite: crossSite({ publicUrl, allows: cors.allowsCredentials }),
    requestedVersion: versioning.steps.requestedVersion,
    acceptable: requireAcceptable(service.vendor),
    authenticate: authenticate({ verifiers, onUse: keys.recordUse }),
    limitVerified: quota.limitVerified,
    shed,
    defaultVersion: versioning.steps.defaultVersion,
    authorize,
    rejectNoneMatch,
    mountPath: addMountPath(mountPathOf(config)),
    countUnspared: quota.countUnspared,
    versionSignals: versioning.steps.signals,
    versionUsage: versioning.steps.count,
    challenges: addChallenges(publicUrl),
    conditional: addEntityTag,
    warnings: addWarnings,
    addCacheHeaders: addCacheHeaders(people.placeHeaders),
    urlCredential,
    corsHeaders: cors.addHeaders,
    addStrictTransport: addStrictTransport(STRICT_TRANSPORT),
    observe,
  }
}
