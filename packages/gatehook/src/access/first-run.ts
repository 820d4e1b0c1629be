/**
 * What a first start leaves behind (§2.2, §2.6): the default customer, the operator's key, a key to
 * try with. Run at every start; what is there already is left alone, also when two processes start
 * at once.
 */
import { type Actor, recordAudit } from '../audit/store.ts'
import { formatKey, parseKey } from '../kernel/api-key-format.ts'
import { type Mode, scopeOf } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from './administration.ts'
import { writeKey } from './keys.ts'
import * as store from './store.ts'

export interface FirstRunWishes {
  /** `GATEHOOK_BOOTSTRAP_KEY`, checked by the configuration. */
  readonly bootstrapKey?: string | null | undefined
  /** The scopes of a test key to print; undefined: none is made. */
  readonly testKeyScopes?: readonly string[] | undefined
}

export interface FirstRun {
  /** Whether this start made the default customer. */
  readonly created: boolean
  /** `unused`: an admin key existed before, so the given one was not taken. */
  readonly bootstrapKey: 'none' | 'made' | 'unused'
  /** The test key made now; undefined where none was wished for, or one was made before. */
  readonly testKey: string | undefined
}

const actor: Actor = { kind: 'system', id: 'first-run' }

export async function firstRun(admin: Administration, wishes: FirstRunWishes): Promise<FirstRun> {
  const { bootstrapKey, testKeyScopes } = wishes
  if (bootstrapKey && parseKey(bootstrapKey)?.mode !== 'live') {
    throw new Error('bug: the bootstrap key was not checked by the configuration')
  }
  return admin.write(async (tx) => {
    const created = await makeDefaultCustomer(tx, admin)
    // Starts that come at the same moment go through here one after the other.
    const { no } = (await store.lockCustomer(tx, DEFAULT_CUSTOMER))!
    const make = (key: string, mode: Mode, name: string, scopes: readonly string[]) =>
      writeKey(
        tx,
        admin,
        key,
        { ...bare, name, scopes, customer: DEFAULT_CUSTOMER, mode },
        { actor },
      )

    let bootstrap: FirstRun['bootstrapKey'] = 'none'
    if (bootstrapKey) {
      const late = await store.keyEverExisted(tx, scopeOf(no, 'live'), ADMIN_SCOPE)
      if (!late) await make(bootstrapKey, 'live', 'bootstrap', [ADMIN_SCOPE])
      bootstrap = late ? 'unused' : 'made'
    }
    let testKey: string | undefined
    if (testKeyScopes && !(await store.keyEverExisted(tx, scopeOf(no, 'test')))) {
      testKey = formatKey(admin.random, 'test')
      await make(testKey, 'test', 'first test key', testKeyScopes)
    }
    return { created, bootstrapKey: bootstrap, testKey }
  })
}

const bare = { expires_at: undefined, cidrs: undefined, api_version: undefined }

async function makeDefaultCustomer(tx: Tx, admin: Administration): Promise<boolean> {
  const name = 'default'
  const row = { id: DEFAULT_CUSTOMER, name, created_at: admin.clock.now() }
  const created = await store.insertCustomer(tx, row)
  const act = { actor, action: 'customer.create', target: DEFAULT_CUSTOMER, detail: { name } }
  if (created) await recordAudit(tx, act, admin)
  return created
}
