/**
 * Composes a running API from a configuration and a service. Reads top to bottom; no module imports
 * it. `assembly/` maps the configuration to the arguments of modules that need more than a line.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Administration } from './access/administration.ts'
import {
  authenticate,
  authorize,
  type CredentialVerifiers,
  identify,
  recognize,
  urlCredential,
  verifyCredential,
} from './access/authenticate.ts'
import { crossSite } from './access/cross-site.ts'
import type { FirstRunResult } from './access/first-run.ts'
import { customerRoutes, keyRoutes, protectedRoute } from './access/routes.ts'
import { createBackgroundWork } from './assembly/background-work.ts'
import { assembleDeliveries } from './assembly/deliveries.ts'
import { assembleEventRoutes, assembleEvents } from './assembly/events.ts'
import type { AppOptions, Component, Foundation } from './assembly/foundation.ts'
import { createLateCalls } from './assembly/late-calls.ts'
import { assembleMetrics, isServedByEveryNode } from './assembly/metrics.ts'
import { assemblePeople, type SignInModules } from './assembly/people.ts'
import { type PreparedDatabase, prepareDatabase } from './assembly/prepare-database.ts'
import { assembleSecrets, openVault, type SecretsComponent } from './assembly/secrets.ts'
import { assembleSystem } from './assembly/system.ts'
import { assembleTokens } from './assembly/tokens.ts'
import { assembleMakers, assembleWebhooks, withMakerReview } from './assembly/webhooks.ts'
import type { AuditTrail } from './audit/trail.ts'
import { type Config, databaseAddress, publicUrlOf } from './config/config.ts'
import { makeDataFolder } from './config/environment.ts'
import type { After, Endpoint, Step } from './http/call.ts'
import { addEntityTag } from './http/conditional.ts'
import { requireAcceptable } from './http/content-negotiation.ts'
import { createCors } from './http/cors.ts'
import { createEgress, shed } from './http/egress.ts'
import type { Pipeline } from './http/exchange.ts'
import { formatOauthError } from './http/problem.ts'
import { createOriginResolver, requireHttps, requireServedHost } from './http/proxy-trust.ts'
import { addCacheHeaders, addStrictTransport, addWarnings } from './http/response-steps.ts'
import { createServer, type HttpServer } from './http/server.ts'
import { createPerform } from './idempotency/perform.ts'
import { SettableClock, wallClock } from './kernel/clock.ts'
import { systemRandom } from './kernel/random.ts'
import { createLister } from './lists/list.ts'
import { createOauth, type Oauth } from './oauth/api.ts'
import { createClientCache } from './oauth/client-cache.ts'
import { renderFailurePage } from './oauth/pages.ts'
import { createPipeline } from './pipeline.ts'
import { createQuota } from './quota/steps.ts'
import { customEndpoints } from './resources/custom-routes.ts'
import { openApiDocument, openApiRoutes } from './resources/openapi.ts'
import { resourceEndpoints } from './resources/routes.ts'
import type { SeedCounts } from './resources/seed.ts'
import type { ServiceDefinition } from './resources/service.ts'
import { bindRoutes, type Permission, permissionsOf } from './route-table.ts'
import type { Database } from './storage/database.ts'
import { openDatabase } from './storage/open.ts'
import { checkServer } from './storage/server-check.ts'
import type { ClockKeeper } from './system/clock.ts'
import type { Tokens } from './tokens/api.ts'
import { listVersionChanges } from './versions/declaration.ts'
import { openVersions, type Versions } from './versions/versions.ts'

export type { AppOptions } from './assembly/foundation.ts'

export interface App {
  readonly db: Database
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  /** The rows of the first start; `testKey` only if the options request it. */
  readonly firstRun: FirstRunResult
  readonly seeded: SeedCounts
  /** The first argument of the operations of `access/`: `createKey(app.administration, …)`. */
  readonly administration: Administration
  /** Operations on people. */
  readonly people: SignInModules['people']
  readonly hasher: SignInModules['hasher']
  /** The first argument of operations on clients: `createClient(app.oauth.administration, …)`. */
  readonly oauth: Pick<Oauth, 'administration'>
  /** Undefined without `GATEHOOK_TEST_CLOCK`. */
  readonly clock: ClockKeeper | undefined
  /** Calendars, usage and the operations of §13 on versions. */
  readonly versioning: Versions
  readonly tokens: Tokens
  readonly audit: AuditTrail
  /** The status and the rotation of the master secret. */
  readonly secrets: Pick<SecretsComponent, 'rotate' | 'status' | 'follow'>
  /** The callers and scopes of each endpoint, those of declared resources included. */
  readonly permissions: readonly Permission[]
  openapi(version: string): unknown
  /** Starts background work without opening a port (§2.5). */
  work(): Promise<void>
  /** Starts background work and the server. */
  listen(): Promise<{ url: string; port: number }>
  /** Sends a request without a socket. */
  readonly inject: HttpServer['inject']
  /**
   * Makes the node unready; it serves until load balancers have noticed (§2.4). `close` follows.
   */
  drain(): Promise<void>
  /** Waits for requests in flight (§2.4), then closes everything. */
  close(): Promise<void>
}

const DRAIN_LIMIT_MS = 10_000

/** Throws `ConfigError`, `StorageError`, `DeclarationError`: sentences for the operator. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, log } = options
  const random = options.random ?? systemRandom()
  const base = options.clock ?? wallClock
  const clock = config.testClock ? new SettableClock(base) : base
  makeDataFolder(config)
  const db = await openDatabase(config.databaseUrl, { log, clock: base })
  const address = { publicUrl: publicUrlOf(config, config.port) }
  const publicUrl = () => address.publicUrl
  try {
    if (!options.clock) await checkServer(db, wallClock, log)
    const vault = await openVault(db, config, random)
    return await compose({ ...options, random, clock, vault, db, publicUrl }, address)
  } catch (error) {
    await db.close()
    throw error
  }
}

async function compose(
  base: Omit<Foundation, 'trail'>,
  address: { publicUrl: string },
): Promise<App> {
  const prepared = await prepareDatabase(base)
  const foundation: Foundation = { ...base, trail: prepared.trail }
  const { config, log, db } = foundation
  const lifecycle = { isDraining: false }
  const secrets = await assembleSecrets(foundation)
  const modules = await composeModules(foundation, prepared)
  const system = assembleSystem(foundation, prepared, {
    list: modules.list,
    perform: modules.perform,
    collections: [...modules.catalog.entries.keys()],
    isDraining: () => lifecycle.isDraining,
    secrets,
  })
  const components = [system, ...componentsOf(foundation, modules), secrets]
  const metrics = assembleMetrics(foundation, components, modules.identify)
  const routes = [...components, metrics].flatMap(({ routes = [] }) => routes)
  const declared = components.flatMap(({ endpoints = [] }) => endpoints)
  const endpoints = [...bindRoutes(routes), ...declared]
  const server = composeServer(foundation, prepared, modules, endpoints, metrics.observe)
  const work = createBackgroundWork(log, foundation.clock, components)
  return {
    db,
    service: prepared.service,
    versions: prepared.versions,
    firstRun: prepared.firstRun,
    seeded: prepared.seeded,
    administration: modules.administration,
    people: modules.people,
    hasher: modules.hasher,
    oauth: modules.oauth,
    clock: prepared.keeper,
    versioning: modules.versioning,
    tokens: modules.tokens,
    audit: prepared.trail,
    secrets,
    permissions: permissionsOf(endpoints),
    openapi: (version) => modules.documents.get(version),
    inject: server.inject,
    work: work.start,
    async listen() {
      await work.start()
      const bound = await server.listen({ host: config.host, port: config.port })
      address.publicUrl = publicUrlOf(config, bound.port)
      log.flush?.()
      return bound
    },
    async drain() {
      lifecycle.isDraining = true
      server.leave()
      if (server.isListening) await delay(drainDelayMs(config))
    },
    async close() {
      lifecycle.isDraining = true
      await Promise.all([server.drain(DRAIN_LIMIT_MS), work.drain()])
      await work.stop()
      await db.close()
    },
  }
}

/** On PostgreSQL a load balancer must notice that the node leaves; on SQLite there is one node. */
const drainDelayMs = ({ drainDelayS, databaseUrl }: Config): number =>
  1000 * (drainDelayS ?? (databaseAddress(databaseUrl).kind === 'postgres' ? 5 : 0))

type Modules = Awaited<ReturnType<typeof composeModules>>

/** Creates the modules, lower ones first. Calls from a lower to a higher one go through `late`. */
async function composeModules(foundation: Foundation, prepared: PreparedDatabase) {
  const { config, clock, random, log, trail, vault, db, publicUrl } = foundation
  const { service, versions } = prepared
  const late = createLateCalls()
  const { eventSignal, record, catalog, types } = assembleEvents(foundation, prepared, late)
  const documents = new Map(versions.map((version) => [version, openApiDocument(catalog, version)]))
  const defaultStyle = config.defaultPagination
  const list = createLister({ db, cursorKeys: vault.macKeys('cursor'), publicUrl, defaultStyle })
  const perform = createPerform({ db, clock, vault })
  const administration = { ...prepared.administration, record }

  const wake = late.wakeDeliveries
  const { makers, currentScopes } = assembleMakers(foundation, { catalog, types, record, wake })
  const clients = createClientCache({ db, clock })
  const issuer = assembleTokens(foundation, { record, list, clients, findPerson: late.findPerson })
  const tokens = withMakerReview(issuer, makers)
  const signIn = { administration, record, perform, list, tokens, catalog }
  const { people, consoleSessions, hasher, devices } = assemblePeople(foundation, signIn)
  const verifiers: CredentialVerifiers = {
    apikey: ({ value }, call) =>
      foundation.processKeys?.get(value) ?? prepared.keys.verify(value, call.address),
    bearer: ({ value }) => tokens.verifyAccessToken(value),
    basic: people.verifyBasic,
  }
  // These hash no password: Basic credentials pass only if they were verified a short while ago.
  const cheapVerifiers: CredentialVerifiers = { ...verifiers, basic: people.verifyCachedBasic }
  const identifyCaller = identify(cheapVerifiers)
  const oauth = createOauth({
    administration,
    clients,
    tokens,
    devices,
    people,
    identify: identifyCaller,
    vault,
    list,
    perform,
    service: service.name,
    lifetimes: { idleS: config.refreshTokenTtlS, absoluteS: config.refreshTokenMaxS },
    issuer: publicUrl,
  })
  const deliveries = assembleDeliveries(foundation, { newest: catalog.newest, types })
  const versioning = await openVersions({
    db,
    clock,
    random,
    trail,
    log,
    list,
    definitions: service.versions,
    changes: listVersionChanges(service.resources),
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
  })
  await makers.fillScopes()
  return {
    administration,
    eventSignal,
    catalog,
    cheapVerifiers,
    consoleSessions,
    currentScopes,
    deliveries,
    documents,
    hasher,
    identify: identifyCaller,
    list,
    makers,
    oauth,
    people,
    perform,
    record,
    tokens,
    types,
    verifiers,
    versioning,
  }
}

/** The modules as components, in the order in which they start. */
function componentsOf(foundation: Foundation, modules: Modules): readonly Component[] {
  const { db, publicUrl } = foundation
  const { administration, eventSignal, catalog, identify, list, perform, record, types } = modules
  const livingVersion = modules.versioning.servedSuccessor
  return [
    { routes: openApiRoutes(modules.documents, publicUrl) },
    { routes: [protectedRoute], endpoints: resourceEndpoints(catalog, { db, list, perform }) },
    { endpoints: customEndpoints(catalog, { db, perform, record }) },
    assembleEventRoutes(foundation, {
      eventSignal,
      catalog,
      identify,
      list,
      livingVersion,
      perform,
      record,
      types,
    }),
    assembleWebhooks(foundation, {
      catalog,
      types,
      list,
      perform,
      livingVersion,
      wake: modules.deliveries.wake,
      makers: modules.makers,
      currentScopes: modules.currentScopes,
    }),
    modules.deliveries,
    { routes: customerRoutes(administration, { list, perform }) },
    { routes: keyRoutes(administration, { list, perform }) },
    modules.tokens,
    modules.people,
    modules.consoleSessions,
    modules.oauth,
    modules.versioning,
  ]
}

function composeServer(
  foundation: Foundation,
  prepared: PreparedDatabase,
  modules: Modules,
  all: readonly Endpoint[],
  observe: After,
): HttpServer {
  const { config, log, clock, random } = foundation
  const egress = createEgress(clock)
  const endpoints = foundation.serves === false ? all.filter(isServedByEveryNode) : all
  return createServer({
    endpoints,
    pipeline: composePipeline(foundation, prepared, modules, { observe, shed: shed(egress) }),
    log,
    clock,
    random,
    resolveOrigin: createOriginResolver(config.trustProxy.join(',') || undefined),
    proxies: config.trustProxy,
    // First segments under `/api` that are paths; any other first segment is a version.
    roots: new Set(endpoints.flatMap(({ path }) => /^\/api\/([^/]+)/.exec(path)?.[1] ?? [])),
    egress,
    tls: tlsOf(config),
    vendor: prepared.service.vendor,
    errorFormats: { oauth: formatOauthError, page: renderFailurePage },
  })
}

function composePipeline(
  { config, clock, db, publicUrl }: Foundation,
  { service, keys }: PreparedDatabase,
  { verifiers, cheapVerifiers, consoleSessions, identify, versioning }: Modules,
  { observe, shed }: { readonly observe: After; readonly shed: Step },
): Pipeline {
  const cors = createCors(config.corsOrigins === '*' ? '*' : config.corsOrigins.join(','))
  const { rateLimit: rate } = config
  const limits = rate && { limit: rate.limit, windowMs: rate.windowS * 1000 }
  const quota = createQuota(db, clock, limits)
  return createPipeline({
    requireHttps,
    requireServedHost: requireServedHost({ publicUrl: publicUrl(), host: config.host }),
    preflight: cors.preflight,
    recognize: recognize(
      consoleSessions.guard(verifyCredential({ verifiers: cheapVerifiers, publicUrl })),
      identify,
    ),
    limit: quota.limit,
    crossSite: crossSite({ publicUrl, allows: cors.allowsCredentials }),
    explicitVersion: versioning.steps.requestedVersion,
    acceptable: requireAcceptable(service.vendor),
    authenticate: authenticate({ verifiers, publicUrl, onUse: keys.recordUse }),
    limitVerified: quota.limitVerified,
    shed,
    settledVersion: versioning.steps.defaultVersion,
    authorize,
    versionSignals: versioning.steps.signals,
    versionUsage: versioning.steps.count,
    conditional: addEntityTag,
    warnings: addWarnings,
    addCacheHeaders,
    urlCredential,
    corsHeaders: cors.addHeaders,
    addStrictTransport,
    observe,
  })
}

const tlsOf = ({ tlsCert, tlsKey }: Config) =>
  tlsCert && tlsKey ? { certFile: tlsCert, keyFile: tlsKey } : undefined
