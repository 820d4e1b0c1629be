/**
 * §18.8: while the database lacks a table or a column that a node uses, the node is not ready and
 * answers 503. It recovers by itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asAdmin } from '../../../../test/rig/postgres.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { checkTables } from '../../src/cli/doctor-installation.ts'
import { listEngineIndexes } from '../../src/declare/resources/expected-tables.ts'
import { engineTables } from '../../src/engine-tables.ts'
import type { Dialect } from '../../src/platform/storage/database.ts'
import { adminOf, requestIdOf } from '../monitoring/admin.ts'

/** A part of the database, and requests that use it. */
interface MissingPart {
  readonly name: string
  readonly remove: string
  readonly restore: string
  readonly paths: readonly string[]
}

const parts: readonly MissingPart[] = [
  {
    name: 'a column of a resource is renamed',
    remove: 'ALTER TABLE orders RENAME COLUMN note TO memo',
    restore: 'ALTER TABLE orders RENAME COLUMN memo TO note',
    paths: ['/api/v2/orders', '/api/v2/orders/1'],
  },
  {
    name: 'a table of a resource is renamed',
    remove: 'ALTER TABLE orders RENAME TO orders_old',
    restore: 'ALTER TABLE orders_old RENAME TO orders',
    paths: ['/api/v2/orders', '/api/v2/orders/1'],
  },
  {
    name: 'a table of the engine is renamed',
    remove: 'ALTER TABLE gh_counters RENAME TO gh_counters_old',
    restore: 'ALTER TABLE gh_counters_old RENAME TO gh_counters',
    paths: [],
  },
]

const indexesOfEngine = (table: string): readonly string[] =>
  listEngineIndexes({ name: 'postgres' } as Dialect).flatMap((index) =>
    index.table === table ? index.name : [],
  )

const change = ({ app }: TestApp, text: string) => app.db.migrate((_tx, ddl) => ddl(text))

/** Returns the status code and the failed checks. */
async function readiness({ as }: TestApp, path: string) {
  const { status, body } = await as(undefined).get(path)
  return [status, body.reasons.map(({ check }: { check: string }) => check)]
}

const order = { user_id: 1, amount: 100, currency: 'EUR', note: 'n' }

for (const { name, remove, restore, paths } of parts) {
  eachService(`${name}: 503 and not ready, until it is back`, async (service) => {
    const { get, post } = service
    const user = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    const body = { ...order, user_id: user.body.id }
    const created = await post('/api/v2/orders', body)
    assert.equal(created.status, 201, created.text)
    await change(service, remove)
    for (const path of ['/readyz', '/readyz?for=read']) {
      assert.deepEqual(await readiness(service, path), [503, ['schema']])
    }
    for (const path of paths) {
      const { status, body } = await get(path)
      assert.deepEqual([status, body.error], [503, 'storage_unavailable'], path)
    }
    const refused = await post('/api/v2/orders', body)
    assert.deepEqual([refused.status, refused.body.error], [503, 'storage_unavailable'])
    if (/ COLUMN /.test(restore)) {
      const { reasons } = (await (await adminOf(service)).get('/admin/system')).body.health
      assert.ok(reasons[0].message.includes(`Rename back: ${restore}.`), reasons[0].message)
    }
    await change(service, restore)
    assert.deepEqual(await readiness(service, '/readyz'), [200, []])
    assert.equal((await post('/api/v2/orders', body)).status, 201)
    for (const path of paths) assert.equal((await get(path)).status, 200, path)
  })
}

eachService('each table of the engine is one that readiness needs', async (service) => {
  const { db } = service.app
  for (const { name: table } of engineTables) {
    const columns = await db.columns(table)
    if (columns.length === 0) continue
    await change(service, `ALTER TABLE ${table} RENAME TO ${table}_old`)
    const [, failed] = await readiness(service, '/readyz?for=read')
    assert.ok((failed as string[]).includes('schema'), table)
    await change(service, `ALTER TABLE ${table}_old RENAME TO ${table}`)
  }
})

/** Detaches the partition of this day, which is the first one of a period. */
const detachPeriod = (table: string): string =>
  `DO $$ BEGIN EXECUTE (SELECT 'ALTER TABLE ${table} DETACH PARTITION ' ||
     min(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = '${table}'::regclass
     AND inhrelid::regclass::text ~ '[0-9]{8}$'); END $$`

for (const [name, remove, restore, cause] of [
  [
    'a unique index of the engine is dropped',
    'ALTER TABLE gh_counters DROP CONSTRAINT gh_counters_pkey',
    'ALTER TABLE gh_counters ADD PRIMARY KEY (scope, collection, slot)',
    /^The database lacks a unique index that the node uses: gh_counters_pkey\.$/,
  ],
  [
    'a unique index of the engine is invalid',
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'gh_counters_pkey'::regclass; " +
      'ANALYZE gh_counters',
    'REINDEX INDEX gh_counters_pkey',
    /: gh_counters_pkey, which is invalid \(REINDEX INDEX gh_counters_pkey\)\.$/,
  ],
  [
    'the partition of this day is detached',
    detachPeriod('gh_events'),
    undefined,
    /lacks a partition that .*: ALTER TABLE gh_events ATTACH PARTITION gh_events_\d{8} FOR VALUES/,
  ],
  [
    'a sequence has no further id',
    "ALTER SEQUENCE orders_id_seq MAXVALUE 2 RESTART 2; SELECT nextval('orders_id_seq')",
    'ALTER SEQUENCE orders_id_seq NO MAXVALUE',
    /^The sequence orders_id_seq has .*: ALTER SEQUENCE orders_id_seq NO MAXVALUE\. The log/,
  ],
  [
    'a trigger of the team refuses rows',
    `CREATE FUNCTION quota() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'secret'; END $$
       LANGUAGE plpgsql;
     CREATE TRIGGER quota BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION quota()`,
    'DROP TRIGGER quota ON orders',
    /^The function quota of the database refused a statement with the state P0001\./,
  ],
  [
    'a column that the declaration lacks requires a value',
    'ALTER TABLE orders ADD COLUMN shelf text; ALTER TABLE orders ALTER COLUMN shelf SET NOT NULL',
    'ALTER TABLE orders ALTER COLUMN shelf DROP NOT NULL',
    /^The column shelf of the table orders refuses .* ALTER COLUMN shelf DROP NOT NULL\.$/,
  ],
  [
    'a number of the engine became a text',
    'ALTER TABLE gh_counters ALTER COLUMN total TYPE text',
    'ALTER TABLE gh_counters ALTER COLUMN total TYPE bigint USING total::bigint',
    /^The database lacks the definition of a column .*: ALTER TABLE gh_counters .* TYPE BIGINT/,
  ],
  [
    'a rule of the team replaces statements',
    'CREATE RULE silent AS ON INSERT TO orders DO INSTEAD NOTHING',
    'DROP RULE silent ON orders',
    /^A rule of the database replaces statements of this service: DROP RULE silent ON orders\. The/,
  ],
  [
    'a check of the team refuses rows',
    'ALTER TABLE orders ADD CONSTRAINT cheap CHECK (amount < 1) NOT VALID',
    'ALTER TABLE orders DROP CONSTRAINT cheap',
    /^PostgreSQL refused .* 23514, by the constraint cheap of the table .* DROP /,
  ],
] as const) {
  test(`${name}: the request has the cause`, async (t) => {
    const service = await openService(t, 'postgres')
    const user = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    const body = { ...order, user_id: user.body.id }
    await change(service, remove)
    const refused = await service.post('/api/v2/orders', body)
    assert.ok(refused.status >= 500, refused.text)
    const admin = await adminOf(service)
    const { help } = (await admin.get(`/admin/requests/${requestIdOf(refused)}`)).body
    assert.match(help.text, cause)
    assert.doesNotMatch(JSON.stringify(help), /secret/)
    await change(service, restore ?? /: (ALTER TABLE .*)\.$/.exec(help.text)![1]!)
    assert.equal((await service.post('/api/v2/orders', body)).status, 201)
  })
}

test('a sequence that was set back: the request has the cause, and its remedy', async (t) => {
  const service = await openService(t, 'postgres')
  const create = (n: number) =>
    service.post('/api/v2/users', { name: 'Ada', email: `ada${n}@example.com` })
  assert.equal((await create(1)).status, 201)
  await asAdmin(service.url, "SELECT setval('users_id_seq', 1, false)")
  const refused = await create(2)
  assert.equal(refused.status, 500, refused.text)
  const admin = await adminOf(service)
  const { help } = (await admin.get(`/admin/requests/${requestIdOf(refused)}`)).body
  const [, statement] =
    /its sequence was set back .*: (SELECT setval\(.*\))\. The/.exec(help.text) ?? []
  assert.ok(statement, help.text)
  await asAdmin(service.url, statement)
  assert.equal((await create(2)).status, 201)
})

for (const [name, remove, repair] of [
  [
    'an unlogged table',
    'ALTER TABLE orders SET UNLOGGED',
    /table orders is unlogged: .* Repair it: (ALTER TABLE orders SET LOGGED)\./,
  ],
  [
    'a partition that is unlogged',
    `DO $$ BEGIN EXECUTE (SELECT 'ALTER TABLE ' || min(inhrelid::regclass::text) ||
       ' SET UNLOGGED' FROM pg_inherits WHERE inhparent = 'gh_events'::regclass); END $$`,
    /table gh_events_\w+ is unlogged: .* Repair it: (ALTER TABLE gh_events_\w+ SET LOGGED)\./,
  ],
  [
    'a lost unique index',
    'ALTER TABLE gh_counters DROP CONSTRAINT gh_counters_pkey',
    /unique index gh_counters_pkey is lost .* Repair it: (CREATE UNIQUE INDEX .*)\.$/,
  ],
  [
    'an invalid unique index',
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'gh_counters_pkey'::regclass",
    /unique index gh_counters_pkey is lost or invalid.* Repair it: (REINDEX INDEX .*)\.$/,
  ],
  ...['gh_events', 'gh_deliveries', 'gh_idempotency', 'gh_event_bodies'].map(
    (table) =>
      [
        `a detached partition of ${table}`,
        detachPeriod(table),
        new RegExp(`is detached: .* Repair it: (ALTER TABLE ${table} ATTACH PARTITION .*)\\.$`),
      ] as const,
  ),
  [
    'the partition of the future is detached',
    'ALTER TABLE gh_events DETACH PARTITION gh_events_future',
    /(ALTER TABLE gh_events ATTACH PARTITION gh_events_future .* TO \(MAXVALUE\))\.$/,
  ],
  [
    'the partition of the past is detached',
    'ALTER TABLE gh_events DETACH PARTITION gh_events_past',
    /(ALTER TABLE gh_events ATTACH PARTITION gh_events_past .*\(MINVALUE\) TO .*)\.$/,
  ],
  [
    'a number of a resource that became a text',
    'ALTER TABLE orders ALTER COLUMN amount TYPE text',
    /column orders\.amount has another type.* it: (ALTER TABLE orders .* amount TYPE.*)\.$/,
  ],
  [
    'a number of the engine that became a text, with its default',
    'ALTER TABLE gh_clients ALTER COLUMN blocked TYPE text',
    /column gh_clients\.blocked has .* it: (ALTER TABLE gh_clients .* DROP DEFAULT.*)\.$/,
  ],
  [
    'a text of a resource with another collation',
    'ALTER TABLE users ALTER COLUMN name TYPE text COLLATE "default"',
    /column users\.name has .* Repair it: (ALTER TABLE users ALTER .* COLLATE "C" .*)\.$/,
  ],
  [
    'a column that may be null',
    'ALTER TABLE orders ALTER COLUMN amount DROP NOT NULL',
    /column orders\.amount has .* Repair it: (ALTER TABLE orders .* SET NOT NULL)\.$/,
  ],
  [
    'a column that must not be null',
    'ALTER TABLE orders ALTER COLUMN note SET NOT NULL',
    /column orders\.note has .* Repair it: (ALTER TABLE orders .* DROP NOT NULL)\.$/,
  ],
  [
    'ids that no sequence numbers',
    'ALTER TABLE orders ALTER COLUMN id DROP IDENTITY',
    /column orders\.id has .* Repair it: (ALTER TABLE orders .* IDENTITY; SELECT setval.*)\.$/,
  ],
  [
    'a lost default of the engine',
    'ALTER TABLE gh_events ALTER COLUMN txid DROP DEFAULT',
    /column gh_events\.txid has .* Repair it: (ALTER TABLE gh_events .* SET DEFAULT .*)\.$/,
  ],
  [
    'a lost default of a resource',
    'ALTER TABLE orders ALTER COLUMN status DROP DEFAULT',
    /column orders\.status has .* Repair it: (ALTER TABLE orders .* SET DEFAULT .*)\.$/,
  ],
  [
    'a lost index of a resource',
    'DROP INDEX orders_by_amount',
    /index orders_by_amount is lost.* Repair it: (CREATE INDEX CONCURRENTLY .*)\.$/,
  ],
  ...['gh_jobs', 'gh_events'].map((table) => {
    const [name] = indexesOfEngine(table)
    return [
      `a lost index of ${table}`,
      `DROP INDEX ${name}`,
      new RegExp(`index ${name} is lost.* Repair it: (CREATE INDEX .*)\\.$`),
    ] as const
  }),
  [
    'a setting that ends transactions',
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET transaction_timeout = 20000',
       current_database()); END $$`,
    /by a setting\. Repair it: (ALTER DATABASE \w+ RESET transaction_timeout)\.$/,
  ],
  [
    'a rule that replaces statements of a resource',
    'CREATE RULE silent AS ON INSERT TO orders DO INSTEAD NOTHING',
    /can discard its rows, .* Repair it: (DROP RULE silent ON orders)\.$/,
  ],
  ...[
    'TRIGGER gone AFTER INSERT ON gh_deliveries FOR EACH ROW',
    'CONSTRAINT TRIGGER gone AFTER INSERT ON gh_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW',
    'TRIGGER gone AFTER UPDATE OR DELETE ON gh_jobs FOR EACH STATEMENT',
    'TRIGGER gone BEFORE INSERT ON gh_sessions FOR EACH ROW',
  ].map(
    (trigger) =>
      [
        `a trigger that can delete rows afterwards: ${trigger}`,
        `CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE ${trigger} EXECUTE FUNCTION gone()`,
        /or delete and change them .* Repair it: (DROP TRIGGER gone ON gh_\w+)\.$/,
      ] as const,
  ),
  [
    'a rule that runs further statements',
    'CREATE RULE more AS ON INSERT TO gh_jobs DO ALSO DELETE FROM gh_jobs WHERE false',
    /or delete and change them .* Repair it: (DROP RULE more ON gh_jobs)\.$/,
  ],
  ...['orders', 'gh_api_keys'].map(
    (table) =>
      [
        `a table that inherits from ${table}`,
        `CREATE TABLE ${table}_archive () INHERITS (${table})`,
        new RegExp(`inherits .* it: (ALTER TABLE ${table}_archive NO INHERIT ${table})\\.$`),
      ] as const,
  ),
  ...['orders', 'gh_api_keys'].map(
    (table) =>
      [
        `a view in place of ${table}`,
        `ALTER TABLE ${table} RENAME TO former;
         CREATE VIEW ${table} AS SELECT * FROM former`,
        new RegExp(
          `^${table} is a view,.* (DROP VIEW ${table}; ALTER TABLE former RENAME TO ${table})\\.$`,
        ),
      ] as const,
  ),
  [
    'a sequence that counts down',
    'ALTER SEQUENCE orders_id_seq INCREMENT BY -1',
    /counts down, .* Repair it: (ALTER SEQUENCE orders_id_seq .*setval.* FROM orders\)\))\.$/,
  ],
  [
    'a trigger that can discard rows of the engine',
    `CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
     CREATE TRIGGER ignored BEFORE INSERT ON gh_api_keys FOR EACH ROW EXECUTE FUNCTION ignored()`,
    /can discard its rows, .* Repair it: (DROP TRIGGER ignored ON gh_api_keys)\.$/,
  ],
  [
    'a rule that can discard rows of the engine',
    'CREATE RULE silent AS ON INSERT TO gh_api_keys DO INSTEAD NOTHING',
    /can discard its rows, .* Repair it: (DROP RULE silent ON gh_api_keys)\.$/,
  ],
] as const) {
  test(`${name}: a warning, with the statement that repairs it [postgres]`, async (t) => {
    const service = await openService(t, 'postgres')
    const admin = await adminOf(service)
    const warningsOf = async () => (await service.as(undefined).get('/readyz')).body.warnings ?? []
    assert.deepEqual(await warningsOf(), [])
    await change(service, remove)
    const [warning] = await warningsOf()
    assert.equal(warning.check, 'schema')
    assert.doesNotMatch(warning.message, /orders|gh_/, 'any caller reads it')
    const { health, nodes } = (await admin.get('/admin/system')).body
    const [, statement] = repair.exec(health.warnings[0].message) ?? []
    assert.ok(statement, health.warnings[0].message)
    assert.equal(nodes[0].warnings[0].message, health.warnings[0].message)
    const item = (await admin.get('/admin/attention')).body.data.find(
      ({ kind }: { kind: string }) => kind === 'node_warning',
    )
    assert.deepEqual([item.severity, item.facts.check], ['bad', 'schema'])
    assert.equal(item.facts.warnings[0].message, health.warnings[0].message)
    const doctor = await checkTables(service.app.db, api)
    // No start has stored the unique indexes, and the defaults of resources.
    const isOfStart = /UNIQUE INDEX|REINDEX|orders .* SET DEFAULT/.test(statement)
    assert.equal(doctor?.hint?.startsWith(statement) ?? false, !isOfStart)
    await asAdmin(service.url, statement)
    assert.deepEqual(await warningsOf(), [])
    assert.equal((await checkTables(service.app.db, api))?.state, 'ok')
  })
}
