/** The database as this program and this service need it, with what a first start makes. */
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from '../access/administration.ts'
import { firstRun } from '../access/first-run.ts'
import { keyVerifier } from '../access/key-verifier.ts'
import { findCustomer } from '../access/store.ts'
import { openAuditTrail } from '../audit/trail.ts'
import { SettableClock } from '../kernel/clock.ts'
import { type Mode, type Scope, scopeOf } from '../kernel/principal.ts'
import { migrateService } from '../resources/migrate.ts'
import { scopesOf } from '../resources/scopes.ts'
import { seedService } from '../resources/seed.ts'
import type { Database } from '../storage/database.ts'
import { migrateEngine } from '../storage/migrate.ts'
import { clockKeeper } from '../system/clock.ts'
import { ensureSigningKey } from '../tokens/signing-keys.ts'
import type { Ground } from './ground.ts'
import { settleSecrets } from './secrets.ts'

export type Prepared = Awaited<ReturnType<typeof prepare>>

export async function prepare(ground: Omit<Ground, 'trail'>) {
  const { config, log, clock, random, db, onProgress = () => {} } = ground
  const service = ground.service.definition
  const versions = service.versions.map((version) => version.name)
  await migrateEngine(db, {
    clock,
    onProgress: ({ number, name }) => onProgress(`engine migration ${number}: ${name}`),
  })
  await settleSecrets(ground)
  await migrateService(db, service, onProgress)
  const trail = await openAuditTrail({ ...ground, retentionDays: config.auditRetentionDays })
  await ensureSigningKey(db, ground)
  const keys = keyVerifier({ db, clock, log })
  const changed = keys.forget
  const scopes = scopesOf(service)
  const { write } = db
  const sources = { clock, random, trail }
  const administration: Administration = { db, write, ...sources, scopes, versions, changed }
  const testKeyScopes = [...scopes].filter((scope) => scope !== ADMIN_SCOPE)
  const first = await firstRun(administration, {
    bootstrapKey: config.bootstrapKey,
    ...(ground.testKey && { testKeyScopes }),
  })
  const publicScope = await defaultScope(db, 'live')
  const wanted = ground.seed === 'first' ? first.created : ground.seed
  const seeded = wanted ? await seedService(service, await defaultScope(db, 'test'), ground) : {}
  for (const [name, count] of Object.entries(seeded)) onProgress(`${count} sample ${name}`)
  const keeper =
    clock instanceof SettableClock ? clockKeeper({ db, clock, random, trail }) : undefined
  await keeper?.follow()
  const facts = { service, versions, keys, administration, firstRun: first, seeded, keeper }
  return { ...facts, trail, publicScope }
}

/**
 * The default customer's: sample data belongs to its test mode (§2.2), anonymous callers read its
 * live mode (§6.10).
 */
const defaultScope = async (db: Database, mode: Mode): Promise<Scope> =>
  scopeOf((await findCustomer(db, DEFAULT_CUSTOMER))!.no, mode)
