/**
 * Where everything meets: a configuration and a service become a running API. Reads top to bottom
 * like a recipe; nothing downstairs imports it.
 */
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from './access/administration.ts'
import { authenticate, authorize, noBasic, noBearer } from './access/authenticate.ts'
import { type FirstRun, firstRun } from './access/first-run.ts'
import { keyVerifier } from './access/key-verifier.ts'
import { customerEndpoints, keyEndpoints, protectedEndpoint } from './access/routes.ts'
import { countKeys, findCustomer } from './access/store.ts'
import { type Config, publicUrlOf } from './config/config.ts'
import { describeConfig } from './config/describe.ts'
import { masterSecret } from './config/environment.ts'
import { eventEndpoints } from './events/routes.ts'
import { createRecorder } from './events/store.ts'
import type { Endpoint } from './http/call.ts'
import { conditional } from './http/conditional.ts'
import { createCors } from './http/cors.ts'
import { createFront, knownHost, requireHttps } from './http/front.ts'
import { acceptable } from './http/media.ts'
import { strictTransport } from './http/protection.ts'
import { createServer, type HttpServer } from './http/server.ts'
import { addWarnings } from './http/warnings.ts'
import { createPerform } from './idempotency/perform.ts'
import { purgeAnswers } from './idempotency/store.ts'
import { type Clock, SettableClock, wallClock } from './kernel/clock.ts'
import type { Log } from './kernel/log.ts'
import { type Scope, scopeOf } from './kernel/principal.ts'
import { type Random, systemRandom } from './kernel/random.ts'
import { Vault } from './kernel/secret.ts'
import { createLister } from './lists/list.ts'
import { createPipeline } from './pipeline.ts'
import { createQuota } from './quota/steps.ts'
import { purgeQuota } from './quota/store.ts'
import { createCatalog, newestOf } from './resources/catalog.ts'
import { customEndpoints } from './resources/custom.ts'
import { migrateService } from './resources/migrate.ts'
import { openApiDocument, openApiEndpoints } from './resources/openapi.ts'
import { resourceEndpoints } from './resources/routes.ts'
import { type Seeded, seedService } from './resources/seed.ts'
import { type Service, type ServiceDefinition, scopesOf } from './resources/service.ts'
import type { Database } from './storage/database.ts'
import { migrateEngine } from './storage/migrate.ts'
import { openDatabase } from './storage/open.ts'
import { type ClockKeeper, clockKeeper } from './system/clock.ts'
import { databaseCheck, drainCheck, migrationCheck } from './system/health.ts'
import { startJanitor } from './system/janitor.ts'
import {
  auditEndpoint,
  clockEndpoint,
  probeEndpoints,
  rootEndpoint,
  systemEndpoint,
} from './system/routes.ts'
import { followClock } from './system/worker.ts'
import { ensureSigningKey } from './tokens/signing-keys.ts'
import { explicitVersion, settledVersion } from './versions/negotiate.ts'

export interface AppOptions {
  readonly config: Config
  readonly service: Service
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  /** The program's own version: `0.1.0`. */
  readonly release?: string
  /**
   * Sample data in test mode of the default customer, where it is empty; `first`: on the first
   * start only.
   */
  readonly seed?: boolean | 'first'
  /** Make a test key on the first run and give its text, to be shown to a person once. */
  readonly testKey?: boolean
  /** Told what start does that may take long: migrations, seeds. */
  readonly onProgress?: (line: string) => void
}

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
  /** Undefined without `GATEHOOK_TEST_CLOCK`. */
  readonly clock: ClockKeeper | undefined
  openapi(version: string): unknown
  listen(): Promise<{ url: string; port: number }>
  /** A call without a socket. */
  readonly inject: HttpServer['inject']
  /** Drains (§2.4), then closes everything. */
  close(): Promise<void>
}

const DRAIN_LIMIT_MS = 10_000

/** Throws `ConfigError`, `StorageError`, `DeclarationError`: sentences for the operator. */
export async function openApp(options: AppOptions): Promise<App> {
  const random = options.random ?? systemRandom()
  const base = options.clock ?? wallClock
  const clock = options.config.testClock ? new SettableClock(base) : base
  const vault = new Vault(masterSecret(options.config, random), random)
  const db = await openDatabase(options.config.databaseUrl, { log: options.log, clock: base })
  try {
    return await assemble({ ...options, random, clock, vault, db })
  } catch (error) {
    await db.close()
    throw error
  }
}

interface Ground extends AppOptions {
  readonly random: Random
  readonly clock: Clock
  readonly vault: Vault
  readonly db: Database
}

async function assemble(ground: Ground): Promise<App> {
  const { config, log, db } = ground
  const prepared = await prepare(ground)
  const { keys, keeper, service } = prepared
  const address = { publicUrl: publicUrlOf(config, config.port) }
  const state = { draining: false }
  const engine = equip(ground, prepared, address)
  const endpoints = endpointsOf(ground, prepared, engine, address, state)
  const server = createServer({
    ...ground,
    endpoints,
    vendor: service.vendor,
    front: createFront(config.trustProxy.join(',') || undefined),
    roots: rootsOf(endpoints),
    tls: tlsOf(config),
    pipeline: pipelineOf(ground, prepared, address),
  })
  const stopClock = keeper ? followClock(keeper, log) : () => {}
  const stopJanitor = startJanitor(log, {
    answers: () => purgeAnswers(db, ground.clock.now()),
    quota: () => purgeQuota(db, ground.clock.now()),
  })
  return {
    ...prepared,
    db,
    clock: keeper,
    openapi: (version) => engine.documents.get(version),
    inject: server.inject,
    async listen() {
      const bound = await server.listen({ host: config.host, port: config.port })
      address.publicUrl = publicUrlOf(config, bound.port)
      return bound
    },
    async close() {
      state.draining = true
      await server.drain(DRAIN_LIMIT_MS)
      stopClock()
      await stopJanitor()
      await keys.idle()
      await db.close()
    },
  }
}

/** Where the service is reached; the port may be known only once it listens. */
interface Address {
  publicUrl: string
}

type Prepared = Awaited<ReturnType<typeof prepare>>
type Engine = ReturnType<typeof equip>

/** The database as this program and this service need it, with what a first start makes. */
async function prepare(ground: Ground) {
  const { config, log, clock, random, db, onProgress = () => {} } = ground
  const service = ground.service.definition
  const versions = service.versions.map((version) => version.name)
  await migrateEngine(db, { clock, onProgress: ({ name }) => onProgress(`migration ${name}`) })
  await migrateService(db, service, onProgress)
  await ensureSigningKey(db, ground)
  const keys = keyVerifier({ db, clock, log })
  const changed = keys.forget
  const scopes = scopesOf(service)
  const { write } = db
  const administration: Administration = { db, write, clock, random, scopes, versions, changed }
  const testKeyScopes = [...scopes].filter((scope) => scope !== ADMIN_SCOPE)
  const first = await firstRun(administration, {
    bootstrapKey: config.bootstrapKey,
    ...(ground.testKey && { testKeyScopes }),
  })
  const wanted = ground.seed === 'first' ? first.created : ground.seed
  const seeded = wanted ? await seedService(service, await sampleScope(db), ground) : {}
  for (const [name, count] of Object.entries(seeded)) onProgress(`${count} sample ${name}`)
  const keeper = clock instanceof SettableClock ? clockKeeper({ db, clock, random }) : undefined
  await keeper?.follow()
  return { service, versions, keys, administration, firstRun: first, seeded, keeper }
}

/** What handlers work with. */
function equip(ground: Ground, { service, versions }: Prepared, address: Address) {
  const { config, clock, random, vault, db } = ground
  const record = createRecorder({ clock, random, shape: newestOf(service), sinks: [] })
  const { counterSlots } = db.dialect
  const catalog = createCatalog(service, { clock, record, counterSlots })
  const list = createLister({
    db,
    cursorKey: vault.key('cursor'),
    publicUrl: () => address.publicUrl,
    defaultStyle: config.defaultPagination,
  })
  const perform = createPerform({ db, clock, vault })
  const documents = new Map(versions.map((version) => [version, openApiDocument(catalog, version)]))
  return { db, record, catalog, list, perform, documents }
}

function endpointsOf(
  ground: Ground,
  { service, versions, administration, keeper }: Prepared,
  engine: Engine,
  address: Address,
  state: { readonly draining: boolean },
): Endpoint[] {
  const { db, log, clock, config } = ground
  const { catalog, list } = engine
  const checks = {
    database: databaseCheck(db),
    migrations: migrationCheck(db),
    draining: drainCheck(() => state.draining),
  }
  return [
    ...probeEndpoints(checks, log),
    rootEndpoint({ name: service.name, versions, collections: [...catalog.entries.keys()] }),
    ...openApiEndpoints(engine.documents, () => address.publicUrl),
    protectedEndpoint,
    ...resourceEndpoints(catalog, engine),
    ...customEndpoints(catalog, engine),
    ...eventEndpoints({ db, list, ...catalog }),
    ...customerEndpoints(administration, engine),
    ...keyEndpoints(administration, engine),
    auditEndpoint(list),
    ...(keeper ? [clockEndpoint(keeper)] : []),
    systemEndpoint({
      db,
      clock,
      log,
      checks,
      release: ground.release ?? 'unknown',
      node: process.version,
      startedMs: clock.elapsedMs(),
      configuration: describeConfig(config),
      figures: { keys: () => countKeys(db) },
    }),
  ]
}

function pipelineOf(ground: Ground, { service, versions, keys }: Prepared, address: Address) {
  const { config, clock, db } = ground
  const cors = createCors(config.corsOrigins === '*' ? '*' : config.corsOrigins.join(','))
  const quota = createQuota(db, clock, rateOf(config))
  return createPipeline({
    requireHttps,
    knownHost: knownHost({ publicUrl: address.publicUrl, host: config.host }),
    preflight: cors.preflight,
    explicitVersion: explicitVersion(versions),
    acceptable: acceptable(service.vendor),
    authenticate: authenticate({
      verifiers: {
        apikey: ({ value }, call) => keys.verify(value, call.address),
        bearer: noBearer,
        basic: noBasic,
      },
      publicUrl: () => address.publicUrl,
    }),
    settledVersion: settledVersion(versions),
    quota: quota.known,
    authorize,
    quotaAnonymous: quota.anonymous,
    conditional,
    warnings: addWarnings,
    corsHeaders: cors.headers,
    strictTransport,
  })
}

/** Sample data belongs to the default customer's test mode (§2.2). */
const sampleScope = async (db: Database): Promise<Scope> =>
  scopeOf((await findCustomer(db, DEFAULT_CUSTOMER))!.no, 'test')

/** First segments under `/api`: what stands there is a path, not a version. */
const rootsOf = (endpoints: readonly Endpoint[]): Set<string> =>
  new Set(endpoints.flatMap(({ path }) => /^\/api\/([^/]+)/.exec(path)?.[1] ?? []))

const rateOf = ({ rateLimit }: Config) =>
  rateLimit && { limit: rateLimit.limit, windowMs: rateLimit.windowS * 1000 }

const tlsOf = ({ tlsCert, tlsKey }: Config) =>
  tlsCert && tlsKey ? { certFile: tlsCert, keyFile: tlsKey } : undefined
