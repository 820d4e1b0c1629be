/**
 * Creates the objects of a first start (§2.2, §2.6): the default customer, the operator's key and a
 * test key. Runs at every start and leaves existing objects unchanged, also when two processes
 * start at once.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { generateApiKey, parseApiKey } from '../../kernel/api-key-format.ts'
import { type Mode, scopeOf } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from './administration.ts'
import { writeKey } from './keys.ts'
import * as store from './store.ts'

interface FirstRunOptions {
  /** `GATEHOOK_BOOTSTRAP_KEY`, validated by the configuration. */
  readonly bootstrapKey?: string | null | undefined
  /** The scopes of the test key to create; undefined creates none. */
  readonly testKeyScopes?: readonly string[] | undefined
}

export interface FirstRunResult {
  /** Whether this start created the default customer. */
  readonly created: boolean
  /** `unused`: an admin key existed before, so the bootstrap key was not stored. */
  readonly bootstrapKey: 'none' | 'created' | 'unused'
  /** The new test key; undefined if none was requested or one existed before. */
  readonly testKey: string | undefined
}

const actor: Actor = { kind: 'system', id: 'first-run' }

/** Creates the default customer and the keys of `options`, if they do not exist. */
export async function performFirstRun(
  admin: Administration,
  options: FirstRunOptions,
): Promise<FirstRunResult> {
  const { bootstrapKey, testKeyScopes } = options
  if (bootstrapKey && parseApiKey(bootstrapKey)?.mode !== 'live') {
    throw new Error('bug: the configuration did not validate the bootstrap key')
  }
  const before = await findFirstRun(admin.db, options)
  // A start writes nothing to a database in use: one that was moved is read-only (§2.8).
  if (before.hasCustomer && before.hasBootstrapKey && before.hasTestKey) {
    return { created: false, bootstrapKey: bootstrapKey ? 'unused' : 'none', testKey: undefined }
  }
  return admin.write(async (tx) => {
    const created = await createDefaultCustomer(tx, admin)
    // The lock serializes processes that start at the same time.
    await store.lockCustomer(tx, DEFAULT_CUSTOMER)
    const create = (key: string, mode: Mode, name: string, scopes: readonly string[]) => {
      const restrictions = { expires_at: undefined, cidrs: undefined, api_version: undefined }
      const input = { ...restrictions, name, scopes, customer: DEFAULT_CUSTOMER, mode }
      return writeKey(tx, admin, key, input, { actor })
    }
    const { hasBootstrapKey, hasTestKey } = await findFirstRun(tx, options)
    if (bootstrapKey && !hasBootstrapKey)
      await create(bootstrapKey, 'live', 'bootstrap', [ADMIN_SCOPE])
    let testKey: string | undefined
    if (testKeyScopes && !hasTestKey) {
      testKey = generateApiKey(admin.random, 'test')
      await create(testKey, 'test', 'first test key', testKeyScopes)
    }
    const bootstrap = !bootstrapKey ? 'none' : hasBootstrapKey ? 'unused' : 'created'
    return { created, bootstrapKey: bootstrap, testKey }
  })
}

/** Finds the objects of a first run; a key that no option requests counts as present. */
async function findFirstRun(
  reader: Reader,
  { bootstrapKey, testKeyScopes }: FirstRunOptions,
): Promise<Record<'hasCustomer' | 'hasBootstrapKey' | 'hasTestKey', boolean>> {
  const row = await store.findCustomer(reader, DEFAULT_CUSTOMER)
  const hasHad = async (mode: Mode, scope?: string) =>
    row !== undefined && store.hasEverHadKey(reader, scopeOf(row.no, mode), scope)
  return {
    hasCustomer: row !== undefined,
    hasBootstrapKey: !bootstrapKey || (await hasHad('live', ADMIN_SCOPE)),
    hasTestKey: !testKeyScopes || (await hasHad('test')),
  }
}

async function createDefaultCustomer(tx: Tx, admin: Administration): Promise<boolean> {
  if (await store.findCustomer(tx, DEFAULT_CUSTOMER)) return false
  const name = 'default'
  const facts = { contact_email: null, external_id: null, created_at: admin.clock.now() }
  const row = { id: DEFAULT_CUSTOMER, name, ...facts }
  const isCreated = await store.insertCustomer(tx, row)
  const entry = { actor, action: 'customer.create', target: DEFAULT_CUSTOMER, detail: { name } }
  if (isCreated) await recordAudit(tx, entry, admin)
  return isCreated
}
