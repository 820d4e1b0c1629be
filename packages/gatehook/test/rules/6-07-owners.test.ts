/** §6.7: a person reaches its own rows only, unless granted `<collection>:all`; on the catalog. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { api } from '../../service/service.ts'
import { createCatalog } from '../../src/declare/resources/catalog.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { createRecorder } from '../../src/history/events/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { type Principal, scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { Database } from '../../src/platform/storage/database.ts'

const scope = scopeOf(1, 'test')
const person = (subject: number, ...scopes: string[]): Principal => ({
  customer: 'cus_default',
  mode: 'test',
  scope,
  kind: 'person',
  subject: String(subject),
  scopes: new Set(scopes),
})

async function shop(db: Database) {
  await migrateService(db, api.definition)
  const source = { clock: wallClock, random: systemRandom() }
  const record = createRecorder({ ...source, shape: 'v2', sinks: [] })
  const catalog = createCatalog(api.definition, { ...source, record })
  const orders = catalog.entries.get('orders')!
  const key = { scope, owner: undefined }
  const [ada, bob] = await db.write(async (tx) => {
    const ids = []
    for (const name of ['ada', 'bob']) {
      const values = { name, email: `${name}@example.com` }
      ids.push((await catalog.rowsOf('users').create(tx, key, values)).row.id as number)
    }
    return ids
  })
  const create = (who: Principal, user_id: number) =>
    db.write((tx) => orders.rows.create(tx, orders.reach(who, 'create'), { user_id, amount: 1 }))
  return { orders, ada: ada!, bob: bob!, create }
}

const fails = (code: string) => (error: unknown) => error instanceof Failure && error.code === code

eachMigrated('a person reaches its own rows by every operation, and no others', async (db) => {
  const { orders, ada, bob, create } = await shop(db)
  const { row } = await create(person(bob), bob)
  const id = row.id as number
  const [mine, theirs] = [orders.reach(person(bob), 'change'), orders.reach(person(ada), 'change')]
  assert.equal((await orders.rows.get(db, mine, id)).id, id)
  await assert.rejects(orders.rows.get(db, theirs, id), fails('not_found'))
  const pay = orders.definition.actions[0]!
  await assert.rejects(
    db.write((tx) => orders.rows.act(tx, { reach: theirs, id }, pay, {})),
    fails('not_found'),
  )
  await assert.rejects(
    db.write((tx) => orders.rows.update(tx, { reach: theirs, id }, () => ({ amount: 9 }))),
    fails('not_found'),
  )
  await assert.rejects(
    db.write((tx) => orders.rows.remove(tx, { reach: theirs, id })),
    fails('not_found'),
  )
  assert.equal((await orders.rows.get(db, mine, id)).amount, 1)
})

eachMigrated('a person cannot create or assign rows for another person', async (db) => {
  const { orders, ada, bob, create } = await shop(db)
  await assert.rejects(create(person(ada), bob), fails('validation_failed'))
  const { row } = await create(person(ada), ada)
  const target = { reach: orders.reach(person(ada), 'change'), id: row.id as number }
  await assert.rejects(
    db.write((tx) => orders.rows.update(tx, target, () => ({ user_id: bob }))),
    fails('validation_failed'),
  )
})

eachMigrated('`orders:all`, a key and a client reach all rows of the customer', async (db) => {
  const { orders, ada, bob, create } = await shop(db)
  const { row } = await create(person(bob), bob)
  const whole = [
    person(ada, 'orders:all'),
    { ...person(ada), kind: 'key' as const },
    { ...person(ada), kind: 'client' as const },
  ]
  for (const who of whole) {
    const reach = orders.reach(who, 'read')
    assert.equal((await orders.rows.get(db, reach, row.id as number)).user_id, bob)
  }
})
