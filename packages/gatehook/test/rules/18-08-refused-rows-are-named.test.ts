/** §18.8: a column, a condition or a trigger of another program that refuses rows is a warning. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { adminOf, requestIdOf } from '../monitoring/admin.ts'
import { inSchema, OWN, openTeamDatabase } from '../storage/team-database.ts'

interface Case {
  readonly add: string
  readonly repair: string
  /** Whether no statement must fail before the warning. */
  readonly isAtOnce: boolean
}

const CASES: Readonly<Record<string, Case>> = {
  'a column without a value': {
    add: 'ALTER TABLE one.notes ADD COLUMN region text NOT NULL',
    repair: 'ALTER TABLE notes ALTER COLUMN region DROP NOT NULL',
    isAtOnce: true,
  },
  'row level security': {
    add: `ALTER TABLE one.notes ENABLE ROW LEVEL SECURITY;
      ALTER TABLE one.notes FORCE ROW LEVEL SECURITY`,
    repair: 'ALTER TABLE notes NO FORCE ROW LEVEL SECURITY',
    isAtOnce: true,
  },
  'a condition': {
    add: `ALTER TABLE one.notes ADD CONSTRAINT no_tea CHECK (text <> 'tea')`,
    repair: 'ALTER TABLE notes DROP CONSTRAINT no_tea',
    isAtOnce: false,
  },
}

async function openNode(t: TestContext) {
  const { url, query } = await openTeamDatabase(t)
  const node = await openService(t, 'postgres', { service: OWN, url, env: inSchema('one') })
  const admin = await adminOf(node)
  const warningsOf = async () => (await node.as(undefined).get('/readyz')).body.warnings ?? []
  const namedOf = async () => {
    const { warnings = [] } = (await admin.get('/admin/system')).body.health
    return warnings.map(({ message }: { message: string }) => message).join(' ')
  }
  return { node, admin, warningsOf, namedOf, query }
}

for (const [name, { add, repair, isAtOnce }] of Object.entries(CASES)) {
  test(`${name} that refuses rows is named, with its end [postgres]`, async (t) => {
    const { node, admin, warningsOf, namedOf, query } = await openNode(t)
    assert.deepEqual(await warningsOf(), [])
    await query(add)
    assert.equal((await warningsOf()).length, isAtOnce ? 1 : 0)
    const refused = await node.post('/api/v1/notes', { text: 'tea' })
    assert.equal(refused.status, 500, refused.text)
    const { help } = (await admin.get(`/admin/requests/${requestIdOf(refused)}`)).body
    assert.ok(help.text.includes(repair), help.text)
    const [{ check, message }] = await warningsOf()
    assert.equal(check, 'schema')
    assert.doesNotMatch(message, /notes|region|no_tea/, 'any caller reads it')
    const named = await namedOf()
    assert.ok(named.includes('The table notes refuses'), named)
    assert.ok(named.includes(`Repair it: ${repair}.`), named)
    await query(repair.replace('notes', 'one.notes'))
    assert.equal((await node.post('/api/v1/notes', { text: 'milk' })).status, 201)
    assert.deepEqual(await warningsOf(), [])
  })
}

test('a column that a trigger fills is named once it has refused a row [postgres]', async (t) => {
  const { node, warningsOf, namedOf, query } = await openNode(t)
  await query(`CREATE FUNCTION one.fills() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN NEW.region := nullif(NEW.text, ''tea''); RETURN NEW; END'`)
  await query(`CREATE TRIGGER fills BEFORE INSERT ON one.notes
    FOR EACH ROW EXECUTE FUNCTION one.fills()`)
  await query('ALTER TABLE one.notes ADD COLUMN region text NOT NULL')
  assert.equal((await node.post('/api/v1/notes', { text: 'milk' })).status, 201)
  assert.doesNotMatch(JSON.stringify(await warningsOf()), /refuses/)
  assert.equal((await node.post('/api/v1/notes', { text: 'tea' })).status, 500)
  assert.match(JSON.stringify(await warningsOf()), /refuses/)
  assert.match(await namedOf(), /Repair it: ALTER TABLE notes ALTER COLUMN region DROP NOT NULL\./)
})

const TRIGGERS = {
  sqlite: ['CREATE TRIGGER ignored BEFORE INSERT ON users BEGIN SELECT RAISE(IGNORE); END'],
  postgres: [
    `CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
    'CREATE TRIGGER ignored BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION ignored()',
  ],
} as const

eachService('a trigger that has discarded a row is named with its table', async (service) => {
  const { app, as, post } = service
  const admin = await adminOf(service)
  await app.db.migrate(async (_tx, ddl) => {
    for (const text of TRIGGERS[app.db.name]) await ddl(text)
  })
  const warningsOf = async () => (await as(undefined).get('/readyz')).body.warnings ?? []
  assert.deepEqual(await warningsOf(), [], 'it may change values only')
  const refused = await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
  assert.equal(refused.status, 500)
  const { help } = (await admin.get(`/admin/requests/${requestIdOf(refused)}`)).body
  const drop =
    app.db.name === 'postgres' ? 'DROP TRIGGER ignored ON users' : 'DROP TRIGGER "ignored"'
  assert.ok(help.text.includes(`of the table users without an error`), help.text)
  assert.ok(help.text.includes(`Drop it: ${drop}.`), help.text)
  assert.equal((await warningsOf()).length, 1)
  await app.db.migrate((_tx, ddl) => ddl(drop))
  assert.deepEqual(await warningsOf(), [])
})

for (const [name, change, kind] of [
  ['an id without a sequence', 'ALTER TABLE orders ALTER COLUMN id DROP IDENTITY', 'f\\.id\\(\\)'],
  [
    'a column of the engine without its default',
    `ALTER TABLE gh_events ALTER COLUMN txid DROP DEFAULT`,
    'a column of the engine',
  ],
] as const) {
  test(`${name}: the request names what it is declared as, and drops nothing`, async (t) => {
    const service = await openService(t, 'postgres')
    const person = { name: 'Ada', email: 'ada@example.com' }
    const user_id = (await service.post('/api/v2/users', person)).body.id
    await queryAsAdmin(service.url, change)
    const body = { user_id, amount: 100, currency: 'EUR' }
    const refused = await service.post('/api/v2/orders', body)
    assert.equal(refused.status, 500, refused.text)
    const admin = await adminOf(service)
    const { help } = (await admin.get(`/admin/requests/${requestIdOf(refused)}`)).body
    assert.match(help.text, new RegExp(`refuses a row .* is declared as ${kind}: .*doctor`))
    assert.doesNotMatch(help.text, /DROP NOT NULL/)
  })
}
