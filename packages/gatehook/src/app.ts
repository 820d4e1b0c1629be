/**
 * Where everything meets: a configuration and a service become a running API. Reads top to bottom
 * like a recipe; nothing downstairs imports it. How each part is put together is `assembly/`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Administration } from './access/administration.ts'
import {
  authenticate,
  authorize,
  identify,
  recognize,
  urlCredential,
  type Verifiers,
  verifying,
} from './access/authenticate.ts'
import { crossSite } from './access/cross-site.ts'
import type { FirstRun } from './access/first-run.ts'
import { customerEndpoints, keyEndpoints, protectedEndpoint } from './access/routes.ts'
import { deliveryPart } from './assembly/deliveries.ts'
import { eventPart, happeningOf } from './assembly/events.ts'
import type { AppOptions, Ground, Part } from './assembly/ground.ts'
import { metricsPart, ofEveryNode } from './assembly/metrics.ts'
import { clientsOf, oauthPart } from './assembly/oauth.ts'
import { credentialsOf, type PeoplePart, peopleOf } from './assembly/people.ts'
import { type Prepared, prepare } from './assembly/prepare.ts'
import { openVault, type SecretsPart, secretsPart } from './assembly/secrets.ts'
import { systemPart } from './assembly/system.ts'
import { tokensOf } from './assembly/tokens.ts'
import { versionPart } from './assembly/versions.ts'
import { endingRegistrations, makersOf, webhookPart } from './assembly/webhooks.ts'
import type { AuditTrail } from './audit/trail.ts'
import { type Config, databaseAddress, publicUrlOf } from './config/config.ts'
import { makeDataFolder } from './config/environment.ts'
import type { After, Endpoint, Step } from './http/call.ts'
import { conditional } from './http/conditional.ts'
import { createCors } from './http/cors.ts'
import { createEgress, shed } from './http/egress.ts'
import { createFront, knownHost, requireHttps } from './http/front.ts'
import { acceptable } from './http/media.ts'
import { oauthProblem } from './http/problem.ts'
import { privateResponse, strictTransport } from './http/protection.ts'
import { createServer, type HttpServer } from './http/server.ts'
import { addWarnings } from './http/warnings.ts'
import { createPerform } from './idempotency/perform.ts'
import { SettableClock, wallClock } from './kernel/clock.ts'
import { systemRandom } from './kernel/random.ts'
import { createLister } from './lists/list.ts'
import { pageProblem } from './oauth/pages.ts'
import type { Oauth } from './oauth/room.ts'
import { type Permission, permissionsOf, permit } from './permissions.ts'
import { createPipeline } from './pipeline.ts'
import { createQuota } from './quota/steps.ts'
import { customEndpoints } from './resources/custom.ts'
import { openApiDocument, openApiEndpoints } from './resources/openapi.ts'
import { resourceEndpoints } from './resources/routes.ts'
import type { Seeded } from './resources/seed.ts'
import { externalTypes, type ServiceDefinition } from './resources/service.ts'
import type { Database } from './storage/database.ts'
import { openDatabase } from './storage/open.ts'
import type { ClockKeeper } from './system/clock.ts'
import { startJanitor } from './system/janitor.ts'
import type { Tokens } from './tokens/grant.ts'
import type { VersionSteps, Versions } from './versions/versions.ts'

export type { AppOptions } from './assembly/ground.ts'

export interface App {
  readonly db: Database
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  /** What the first start made; `testKey` only where it was asked for. */
  readonly firstRun: FirstRun
  readonly seeded: Seeded
  /** What the acts of `access/` take: `createKey(app.administration, …)`. */
  readonly administration: Administration
  /** What the acts of `people/` take. */
  readonly people: PeoplePart['people']
  readonly hasher: PeoplePart['hasher']
  /** What the acts on OAuth clients take: `createClient(app.oauth.administration, …)`. */
  readonly oauth: Pick<Oauth, 'administration'>
  /** Undefined without `GATEHOOK_TEST_CLOCK`. */
  readonly clock: ClockKeeper | undefined
  /** Calendars, usage and the acts of §13 on versions. */
  readonly versioning: Versions
  readonly tokens: Tokens
  readonly audit: AuditTrail
  /** The master secret: which one encrypts, and its rotation. */
  readonly secrets: Pick<SecretsPart, 'rotate' | 'status' | 'follow'>
  /** Who reaches each endpoint, those of declared resources included. */
  readonly permissions: readonly Permission[]
  openapi(version: string): unknown
  /** Begins background work without opening a port (§2.5). */
  work(): Promise<void>
  /** Begins background work and serves. */
  listen(): Promise<{ url: string; port: number }>
  /** A call without a socket. */
  readonly inject: HttpServer['inject']
  /**
   * Makes the node unready and, for as long as balancers need to notice, goes on serving (§2.4).
   * `close` comes next.
   */
  drain(): Promise<void>
  /** Lets requests in flight finish (§2.4), then closes everything. */
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
    const vault = await openVault(db, config, random)
    return await assemble({ ...options, random, clock, vault, db, publicUrl }, address)
  } catch (error) {
    await db.close()
    throw error
  }
}

async function assemble(base: Omit<Ground, 'trail'>, address: { publicUrl: string }): Promise<App> {
  const { config, log, db } = base
  const prepared = await prepare(base)
  const { trail } = prepared
  const ground: Ground = { ...base, trail }
  const secrets = await secretsPart(ground)
  const state = { draining: false }
  const engine = equip(ground, prepared)
  const versioning = await versionPart(ground, prepared.service, engine)
  engine.ends.living = versioning.living
  await engine.makers.fillScopes()
  const oauth = oauthPart(ground, { ...engine, service: prepared.service })
  const health = { draining: () => state.draining, secrets }
  const parts = [...partsOf(ground, prepared, engine, health), oauth, versioning, secrets]
  const metrics = metricsPart(ground, parts, engine.identify)
  const steps = { ...versioning.steps, observe: metrics.observe }
  const endpoints = permit([...parts, metrics].flatMap((part) => part.endpoints ?? []))
  const server = serverOf(ground, prepared, engine, endpoints, steps)
  const work = workOf(ground, parts)
  return {
    ...prepared,
    administration: engine.administration,
    people: engine.people,
    tokens: engine.tokens,
    hasher: engine.hasher,
    oauth,
    secrets,
    db,
    clock: prepared.keeper,
    versioning,
    audit: trail,
    permissions: permissionsOf(endpoints),
    openapi: (version) => engine.documents.get(version),
    inject: server.inject,
    work: work.begin,
    async listen() {
      await work.begin()
      const bound = await server.listen({ host: config.host, port: config.port })
      address.publicUrl = publicUrlOf(config, bound.port)
      log.flush?.()
      return bound
    },
    async drain() {
      state.draining = true
      server.leave()
      if (server.isListening) await delay(drainDelayMs(config))
    },
    async close() {
      state.draining = true
      await Promise.all([server.drain(DRAIN_LIMIT_MS), work.drain()])
      await work.end()
      await db.close()
    },
  }
}

/** A balancer in front of several nodes has to notice; in front of SQLite there is one node. */
const drainDelayMs = ({ drainDelayS, databaseUrl }: Config): number =>
  1000 * (drainDelayS ?? (databaseAddress(databaseUrl).kind === 'postgres' ? 5 : 0))

type Engine = ReturnType<typeof equip>

/** What handlers work with. */
function equip(ground: Ground, prepared: Prepared) {
  const { service, versions, keys } = prepared
  const { config, clock, vault, db, publicUrl } = ground
  const revokeSubject: Tokens['revokeSubject'] = (...whose) => tokens.revokeSubject(...whose)
  const forget = (id: number) => people.forget(id)
  const credentials = credentialsOf(ground, service, { revokeSubject }, forget)
  const happening = happeningOf(ground, service, credentials, prepared.publicScope)
  const { record, catalog } = happening
  const defaultStyle = config.defaultPagination
  const list = createLister({ db, cursorKeys: vault.macKeys('cursor'), publicUrl, defaultStyle })
  const perform = createPerform({ db, clock, vault })
  const documents = new Map(versions.map((version) => [version, openApiDocument(catalog, version)]))
  const { clients, lookup } = clientsOf(ground)
  const making = makersOf(ground, happening)
  const issuing = tokensOf(ground, {
    record,
    list,
    lookup: { ...lookup, person: (...whose) => people.person(...whose) },
  })
  const tokens = endingRegistrations(issuing, making.makers)
  const administration = { ...prepared.administration, record }
  const signing = peopleOf(ground, { administration, record, perform, list, tokens, catalog })
  const { people } = signing
  const verifiers: Verifiers = {
    apikey: ({ value }, call) => keys.verify(value, call.address),
    bearer: ({ value }) => tokens.verify(value),
    basic: people.basic,
  }
  /** These hash no password: a Basic pair passes only where it was verified a short while ago. */
  const cheapVerifiers: Verifiers = { ...verifiers, basic: people.known }
  const known = identify(cheapVerifiers)
  const made = { ...happening, ...signing, ...making, administration, db, list, perform, documents }
  return { ...made, tokens, clients, verifiers, cheapVerifiers, identify: known }
}

/** The rooms with doors or work of their own. */
function partsOf(
  ground: Ground,
  prepared: Prepared,
  engine: Engine,
  health: { readonly draining: () => boolean; readonly secrets: SecretsPart },
): readonly Part[] {
  const { publicUrl } = ground
  const { administration, catalog, list, perform } = engine
  const collections = [...catalog.entries.keys()]
  return [
    systemPart(ground, prepared, { list, perform, collections, ...health }),
    { endpoints: openApiEndpoints(engine.documents, publicUrl) },
    { endpoints: [protectedEndpoint, ...resourceEndpoints(catalog, engine)] },
    { endpoints: customEndpoints(catalog, engine) },
    eventPart(ground, { ...engine, ...catalog, external: externalTypes(prepared.service) }),
    webhookPart(ground, { ...engine, ...catalog }),
    deliveryPart(ground, { ...catalog, ...engine }),
    { endpoints: customerEndpoints(administration, engine) },
    { endpoints: keyEndpoints(administration, engine) },
    engine.tokens,
    engine.people,
    engine.consoleSessions,
  ]
}

/** Background work: begun once, ended in the opposite order. */
function workOf({ log, clock }: Ground, parts: readonly Part[]) {
  let stopJanitor: (() => Promise<void>) | undefined
  return {
    async begin() {
      if (stopJanitor) return
      const chores = Object.assign({}, ...parts.map((part) => part.chores))
      stopJanitor = startJanitor(log, chores, clock)
      for (const part of parts) await part.start?.()
    },
    drain: () => Promise.all(parts.map((part) => part.drain?.())),
    async end() {
      await stopJanitor?.()
      for (const part of [...parts].reverse()) await part.stop?.()
    },
  }
}

/** Steps that parts give to the pipeline. */
type Steps = VersionSteps & { readonly observe: After }
type ServerSteps = Steps & { readonly shed: Step }

function serverOf(
  ground: Ground,
  prepared: Prepared,
  engine: Engine,
  all: readonly Endpoint[],
  steps: Steps,
): HttpServer {
  const { config } = ground
  const egress = createEgress(ground.clock)
  const endpoints = all.filter((endpoint) => ground.serves !== false || ofEveryNode(endpoint))
  return createServer({
    ...ground,
    endpoints,
    vendor: prepared.service.vendor,
    front: createFront(config.trustProxy.join(',') || undefined),
    // First segments under `/api`: what stands there is a path, not a version.
    roots: new Set(endpoints.flatMap(({ path }) => /^\/api\/([^/]+)/.exec(path)?.[1] ?? [])),
    tls: tlsOf(config),
    egress,
    pipeline: pipelineOf(ground, prepared, engine, { ...steps, shed: shed(egress) }),
    errorShapes: { oauth: oauthProblem, page: pageProblem },
  })
}

function pipelineOf(
  ground: Ground,
  { service, keys }: Prepared,
  { verifiers, cheapVerifiers, consoleSessions, identify }: Engine,
  steps: ServerSteps,
) {
  const { config, clock, db, publicUrl } = ground
  const cors = createCors(config.corsOrigins === '*' ? '*' : config.corsOrigins.join(','))
  const quota = createQuota(db, clock, rateOf(config))
  return createPipeline({
    requireHttps,
    knownHost: knownHost({ publicUrl: publicUrl(), host: config.host }),
    preflight: cors.preflight,
    recognize: recognize(
      consoleSessions.guard(verifying({ verifiers: cheapVerifiers, publicUrl })),
      identify,
    ),
    limit: quota.limit,
    crossSite: crossSite({ publicUrl, allows: cors.allowsCredentials }),
    explicitVersion: steps.explicit,
    acceptable: acceptable(service.vendor),
    authenticate: authenticate({ verifiers, publicUrl, used: keys.noteUse }),
    limitVerified: quota.limitVerified,
    shed: steps.shed,
    settledVersion: steps.settled,
    authorize,
    versionSignals: steps.signals,
    versionUsage: steps.count,
    conditional,
    warnings: addWarnings,
    privateResponse,
    urlCredential,
    corsHeaders: cors.headers,
    strictTransport,
    observe: steps.observe,
  })
}

const rateOf = ({ rateLimit }: Config) =>
  rateLimit && { limit: rateLimit.limit, windowMs: rateLimit.windowS * 1000 }

const tlsOf = ({ tlsCert, tlsKey }: Config) =>
  tlsCert && tlsKey ? { certFile: tlsCert, keyFile: tlsKey } : undefined
