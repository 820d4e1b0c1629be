/**
 * `fill.ts DATABASE RECEIVER REGISTRATIONS EVENTS`: creates a database with pending events and one
 * registration per customer.
 */

import { migrateEngine } from '../../packages/gatehook/src/engine-tables.ts'
import { createRecorder } from '../../packages/gatehook/src/history/events/store.ts'
import { wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import { createLog } from '../../packages/gatehook/src/kernel/log.ts'
import { type Scope, scopeOf } from '../../packages/gatehook/src/kernel/principal.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { Vault } from '../../packages/gatehook/src/kernel/secret.ts'
import {
  createOutbox,
  newTag,
  saveTopics,
} from '../../packages/gatehook/src/outbound/deliveries/outbox.ts'
import { addSecret } from '../../packages/gatehook/src/outbound/deliveries/registration-store.ts'
import { storeNode } from '../../packages/gatehook/src/platform/nodes/registry.ts'
import type { Database } from '../../packages/gatehook/src/platform/storage/database.ts'
import { openDatabase } from '../../packages/gatehook/src/platform/storage/open.ts'
import { sql } from '../../packages/gatehook/src/platform/storage/sql.ts'
import { MASTER_SECRET, NODE, OBJECT, SECRET } from './common.ts'

const BATCH = 500

export interface DeliveryData {
  readonly databaseUrl: string
  readonly receiver: string
  readonly registrations: number
  readonly events: number
}

/** Adds a customer with one registration for all event types. */
export async function addCustomer(db: Database, name: string, receiver: string): Promise<Scope> {
  const random = systemRandom()
  const vault = new Vault(MASTER_SECRET, random)
  return db.write(async (tx) => {
    const customer = await tx.get(sql`INSERT INTO gh_customers (id, name, created_at)
      VALUES (${`cus_${name}`}, 'bench', 1) RETURNING no`)
    const scope = scopeOf(customer!.no, 'live')
    const tag = newTag(random)
    const registration = await tx.get(sql`INSERT INTO gh_webhooks
      (id, tag, scope, url, events, api_version, created_at, updated_at)
      VALUES (${`wh_${name}`}, ${tag}, ${scope}, ${receiver}, '["*"]', 'v2', 1, 1) RETURNING no`)
    await addSecret(tx, vault, { scope, no: registration!.no }, SECRET.value, 1)
    await saveTopics(tx, { scope, no: registration!.no, events: ['*'] })
    return scope
  })
}

/** Records events of the customers in turn, with their deliveries. */
export async function recordMany(db: Database, scopes: readonly Scope[], events: number) {
  const [clock, random] = [wallClock, systemRandom()]
  const wake = () => {}
  const render = ({ object }: { readonly object: string }) => object
  const outbox = createOutbox({
    clock,
    render,
    wake,
    effective: (version) => version,
    coveredBy: () => undefined,
  })
  const record = createRecorder({ clock, random, shape: 'v2', outbox, sinks: [] })
  const event = { type: 'order.created', collection: 'orders', objectId: 1, object: OBJECT }
  for (let at = 0; at < events; at += BATCH) {
    await db.write(async (tx) => {
      for (let n = at; n < Math.min(events, at + BATCH); n++) {
        await record(tx, scopes[n % scopes.length]!, event)
      }
    })
  }
}

export async function fill({ databaseUrl, receiver, registrations, events }: DeliveryData) {
  const db = await openDatabase(databaseUrl, { log: createLog({ level: 'warn' }) })
  await migrateEngine(db, { clock: wallClock })
  const use = { slot: 0, facts: '{}', columns: {}, keyIds: [], seenAt: wallClock.now() }
  await storeNode(db, { id: NODE, name: NODE, ...use })
  const scopes: Scope[] = []
  for (let n = 0; n < registrations; n++) scopes.push(await addCustomer(db, String(n), receiver))
  await recordMany(db, scopes, events)
  await db.close()
}

if (import.meta.main) {
  const [databaseUrl, receiver, registrations, events] = process.argv.slice(2)
  await fill({
    databaseUrl: databaseUrl!,
    receiver: receiver!,
    registrations: Number(registrations),
    events: Number(events),
  })
}
