/**
 * Creates the objects of a first start (§2.2, §2.6): the default customer, the operator's key and a
 * test key. Runs at every start and leaves existing objects unchanged, also when two processes
 * start at once.
 */
import type { Actor } from '../audit/actor.ts'
import { recordAudit } from '../audit/store.ts'
import { generateApiKey, parseApiKey } from '../kernel/api-key-format.ts'
import { type Mode, scopeOf } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
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
  { bootstrapKey, testKeyScopes }: FirstRunOptions,
): Promise<FirstRunResult> {
  if (bootstrapKey && parseApiKey(bootstrapKey)?.mode !== 'live') {
    throw new Error('bug: the configuration did not validate the bootstrap key')
  }
  return admin.write(async (tx) => {
    const created = await createDefaultCustomer(tx, admin)
    // The lock serializes processes that start at the same time.
    const { no } = (await store.lockCustomer(tx, DEFAULT_CUSTOMER))!
    const create = (key: string, mode: Mode, name: string, scopes: readonly string[]) => {
      const restrictions = { expires_at: undefined, cidrs: undefined, api_version: undefined }
      const input = { ...restrictions, name, scopes, customer: DEFAULT_CUSTOMER, mode }
      return writeKey(tx, admin, key, input, { actor })
    }

    let bootstrap: FirstRunResult['bootstrapKey'] = 'none'
    if (bootstrapKey) {
      const hadKey = await store.hasEverHadKey(tx, scopeOf(no, 'live'), ADMIN_SCOPE)
      if (!hadKey) await create(bootstrapKey, 'live', 'bootstrap', [ADMIN_SCOPE])
      bootstrap = hadKey ? 'unused' : 'created'
    }
    let testKey: string | undefined
    if (testKeyScopes && !(await store.hasEverHadKey(tx, scopeOf(no, 'test')))) {
      testKey = generateApiKey(admin.random, 'test')
      await create(testKey, 'test', 'first test key', testKeyScopes)
    }
    return { created, bootstrapKey: bootstrap, testKey }
  })
}

async function createDefaultCustomer(tx: Tx, admin: Administration): Promise<boolean> {
  // A start writes nothing to a database in use: one that was moved is read-only (§2.8).
  if (await store.findCustomer(tx, DEFAULT_CUSTOMER)) return false
  const name = 'default'
  const row = { id: DEFAULT_CUSTOMER, name, contact_email: null, created_at: admin.clock.now() }
  const isCreated = await store.insertCustomer(tx, row)
  const entry = { actor, action: 'customer.create', target: DEFAULT_CUSTOMER, detail: { name } }
  if (isCreated) await recordAudit(tx, entry, admin)
  return isCreated
}
