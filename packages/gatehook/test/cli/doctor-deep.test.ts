/** `gatehook doctor`: each fault of an installation is found on both databases, and named. */
import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { damagePostgres, damageSqlite } from '../../../../test/rig/damage.ts'
import { freshUrl, type Kind, quietLog } from '../../../../test/rig/databases.ts'
import {
  asAdmin,
  createDatabase,
  type PostgresServer,
  startPostgres,
} from '../../../../test/rig/postgres.ts'
import { createParts } from '../../src/cli/doctor-deep.ts'
import type { RestoreState } from '../../src/operate/restore/state.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { createMark, type MoveState } from '../../src/platform/storage/move/mark.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { writeSetting } from '../../src/platform/storage/settings.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook, jsonOf, type Place } from './command.ts'
import { serving } from './process.ts'

const SECRET = 'a secret that only tests know, long enough'

interface Installation {
  readonly place: Place
  readonly url: string
}

/** An installation with sample rows, which no process uses. */
async function install(t: TestContext, kind: Kind, database?: string): Promise<Installation> {
  const url = database ?? (await freshUrl(t, kind))
  const env = { GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: SECRET, GATEHOOK_PORT: '0' }
  const place = { cwd: emptyFolder(t), env }
  await jsonOf(place, 'seed')
  return { place, url }
}

interface Finding {
  readonly check: string
  readonly state: string
  readonly detail: string
  readonly hint?: string
}

/** Returns what `doctor` finds; the servers of tests are not durable. */
async function findingsOf({ place }: Installation, ...flags: string[]) {
  const { exit, stdout, stderr } = await gatehook(place, 'doctor', '--json', ...flags)
  const { checks } = JSON.parse(stdout) as { checks: Finding[] }
  const relevant = checks.filter(
    ({ check, detail }) =>
      check !== 'disk' && !(check === 'durability' && detail.includes('fsync')),
  )
  const findings = relevant.filter(({ state }) => state !== 'ok')
  for (const { hint } of findings) assert.match(hint ?? '', /\w{3,}.*\.$/, stdout)
  assert.doesNotMatch(stderr, /rows|pages/, 'no progress with --json')
  return { exit, findings, checks: checks.map(({ check }) => check) }
}

async function withDatabase(url: string, change: (db: Database) => Promise<unknown>) {
  const db = await openDatabase(url, { log: quietLog, checksReferences: false })
  try {
    await change(db)
  } finally {
    await db.close()
  }
}

const DEEP = ['pages', 'deliveries', 'totals', 'encryption', 'audit chain']

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a sound installation has no finding, running or stopped [${kind}]`, async (t) => {
    const installation = await install(t, kind)
    const { findings, checks } = await findingsOf(installation, '--deep')
    assert.deepEqual(findings, [])
    assert.deepEqual(
      DEEP.filter((check) => !checks.includes(check)),
      [],
    )
    const shallow = await findingsOf(installation)
    assert.deepEqual(
      DEEP.filter((check) => shallow.checks.includes(check)),
      [],
    )
    await serving(t, installation.place)
    assert.deepEqual((await findingsOf(installation, '--deep')).findings, [])
  })
}

const delivery = (id: string, webhookNo: number, eventId: string) => sql`INSERT INTO gh_deliveries
  (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
  VALUES (${id}, 2, ${webhookNo}, ${eventId}, 'order.created', 'v2', 1, 1)`

const webhook = sql`INSERT INTO gh_webhooks
  (id, tag, scope, url, events, api_version, created_at, updated_at)
  VALUES ('wh_1', 'tagtagta', 2, 'https://example.com', '[]', 'v2', 1, 1)`

/** A delivery whose event exists; it has no time. */
async function cutOff(db: Database): Promise<void> {
  await db.write((tx) => tx.run(webhook))
  const { no } = (await db.get(sql`SELECT no FROM gh_webhooks WHERE id = 'wh_1'`))!
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_events (scope, id, type, shape, object, created)
      VALUES (2, 'evt_1', 'order.created', 'v2', '{}', ${Math.floor(Date.now() / 1000)})`)
    await tx.run(delivery('dlv_1', no, 'evt_1'))
    await tx.run(sql`UPDATE gh_deliveries SET next_attempt_at = NULL`)
  })
}

const restored = (state: Partial<RestoreState>) => (db: Database) => {
  const value = { recognized_at: 1, reason: 'copy', data_through: 1, host: null, ...state }
  return db.write((tx) => writeSetting(tx, 'restore', value))
}

const moved = (state: MoveState) => (db: Database) =>
  db.migrate((tx, ddl) => createMark(db, tx, ddl, { id: 'm', state, target: 'postgres://new/db' }))

interface Fault {
  readonly change: (db: Database) => Promise<unknown>
  readonly finding: readonly [check: string, state: string, detail: RegExp]
  readonly isDeep?: true
}

const faults: Readonly<Record<string, Fault>> = {
  'a moved database': {
    change: moved('moved'),
    finding: ['move', 'fail', /moved to postgres:\/\/new\/db, and accepts no writes/],
  },
  'a move that was interrupted': {
    change: moved('stopped'),
    finding: ['move', 'warn', /accepts no writes until it ends/],
  },
  'restored data that is held': {
    change: restored({ released_at: null, revocations: 'applied' }),
    finding: ['restore', 'warn', /held since 1970/],
  },
  'revocations that are unknown': {
    change: restored({ released_at: 2, revocations: 'unknown' }),
    finding: ['restore', 'warn', /revocations after 1970.* are unknown/],
  },
  'a total that is wrong': {
    change: (db) =>
      db.write((tx) =>
        tx.run(sql`UPDATE gh_counters SET total = total + 1
      WHERE collection = 'orders'`),
      ),
    finding: ['totals', 'fail', /^orders of customer cus_default, test: 120 rows, total 1\d\d/],
    isDeep: true,
  },
  'rows that no total counts': {
    change: (db) =>
      db.write((tx) =>
        tx.run(sql`DELETE FROM gh_counters
      WHERE collection = 'users'`),
      ),
    finding: ['totals', 'fail', /^users of customer cus_default, test: 25 rows, total 0/],
    isDeep: true,
  },
  'an audit row that was changed': {
    change: (db) => db.write((tx) => tx.run(sql`UPDATE gh_audit SET target = 'x' WHERE seq = 1`)),
    finding: ['audit chain', 'fail', /broken at aud_\w+ \(1\)/],
    isDeep: true,
  },
  'a value of another master secret': {
    change: (db) =>
      db.write((tx) =>
        tx.run(sql`INSERT INTO gh_webhook_secrets
      (scope, webhook_no, encrypted, created_at) VALUES (2, 1, ${Buffer.alloc(80, 7)}, 1)`),
      ),
    finding: ['encryption', 'fail', /1 values of gh_webhook_secrets\.encrypted/],
    isDeep: true,
  },
  'a delivery without its registration': {
    change: (db) => db.write((tx) => tx.run(delivery('dlv_1', 77, 'evt_1'))),
    finding: ['deliveries', 'fail', /1 lack their registration \(dlv_1\)/],
    isDeep: true,
  },
  'a delivery without its event': {
    change: async (db) => {
      await db.write((tx) => tx.run(webhook))
      const { no } = (await db.get(sql`SELECT no FROM gh_webhooks WHERE id = 'wh_1'`))!
      await db.write((tx) => tx.run(delivery('dlv_1', no, 'evt_none')))
    },
    finding: ['deliveries', 'fail', /1 lack their event \(dlv_1\)/],
    isDeep: true,
  },
  'an ended delivery that is due': {
    change: async (db) => {
      await cutOff(db)
      const values = sql`state = 'delivered', next_attempt_at = 1`
      await db.write((tx) => tx.run(sql`UPDATE gh_deliveries SET ${values}`))
    },
    finding: ['deliveries', 'fail', /1 have ended but are due \(dlv_1\)/],
    isDeep: true,
  },
  'a pending delivery without a time': {
    change: cutOff,
    finding: ['deliveries', 'fail', /1 lack their time \(dlv_1\)/],
    isDeep: true,
  },
}

for (const [name, { change, finding, isDeep }] of Object.entries(faults)) {
  for (const kind of ['sqlite', 'postgres'] as const) {
    test(`doctor finds ${name} [${kind}]`, async (t) => {
      const installation = await install(t, kind)
      await withDatabase(installation.url, change)
      const { exit, findings } = await findingsOf(installation, ...(isDeep ? ['--deep'] : []))
      const [check, state, detail] = finding
      assert.deepEqual(
        findings.map((item) => [item.check, item.state]),
        [[check, state]],
      )
      assert.match(findings[0]!.detail, detail)
      if (kind === 'sqlite') assert.equal(exit, state === 'fail' ? 1 : 0)
    })
  }
}

const fileOf = ({ url }: Installation) => url.replace(/^sqlite:/, '')

/** Changes of the file of a stopped installation, with the check that finds each. */
const damagedFiles: Readonly<Record<string, [damage: (file: string) => void, check: string]>> = {
  'a leaf of a table': [
    (file) => damageSqlite(file, "name = 'orders' AND pagetype = 'leaf'"),
    'pages',
  ],
  'an inner page of a table': [
    (file) => damageSqlite(file, "name = 'orders' AND pagetype = 'internal'"),
    'pages',
  ],
  'a leaf of an index': [
    (file) => damageSqlite(file, "name LIKE 'orders_by_amount%' AND pagetype = 'leaf'"),
    'pages',
  ],
  'a page of the audit trail': [(file) => damageSqlite(file, "name = 'gh_audit'"), 'pages'],
  'the schema': [(file) => damageSqlite(file, "name = 'sqlite_schema'"), 'database'],
  'the end, which is cut off': [(file) => truncateSync(file, 200 * 2048), 'database'],
}

for (const [name, [damage, check]] of Object.entries(damagedFiles)) {
  test(`doctor --deep finds a file of which ${name} is damaged`, async (t) => {
    const installation = await install(t, 'sqlite')
    damage(fileOf(installation))
    const { exit, findings } = await findingsOf(installation, '--deep')
    assert.equal(exit, 1)
    const fault = findings.find((finding) => finding.check === check)
    assert.equal(fault?.state, 'fail', JSON.stringify(findings))
    assert.match(fault!.hint!, /"The database is damaged"/)
  })
}

test('doctor finds a row that refers to a missing one', async (t) => {
  const installation = await install(t, 'sqlite')
  await withDatabase(installation.url, (db) =>
    db.write(async (tx) => tx.run(sql`DELETE FROM users WHERE id = 1`)),
  )
  const { findings } = await findingsOf(installation, '--deep')
  const references = findings.find(({ check }) => check === 'references')
  assert.match(references?.detail ?? '', /\d+ rows of orders refer to missing users/)
})

test('doctor recognizes a copy of a file without its log, and of one in use', async (t) => {
  const installation = await install(t, 'sqlite')
  const file = fileOf(installation)
  const run = await serving(t, installation.place)
  assert.ok(existsSync(`${file}-wal`))
  const copyTo = (...suffixes: string[]): Installation => {
    const cwd = emptyFolder(t)
    mkdirSync(join(cwd, 'data'))
    const target = join(cwd, 'data', 'gatehook.db')
    for (const suffix of suffixes) copyFileSync(`${file}${suffix}`, `${target}${suffix}`)
    const env = { ...installation.place.env, GATEHOOK_DATABASE_URL: `sqlite:${target}` }
    return { place: { cwd, env }, url: env.GATEHOOK_DATABASE_URL }
  }
  for (const suffixes of [
    ['', '.mark'],
    ['', '-wal'],
  ]) {
    const { findings } = await findingsOf(copyTo(...suffixes))
    assert.equal(findings[0]?.check, 'copy', suffixes.join())
    assert.match(findings[0]!.hint!, /-wal: use gatehook backup/)
  }
  assert.deepEqual((await findingsOf(copyTo('', '-wal', '.mark'))).findings, [])
  run.kill('SIGTERM')
  await run.ended
  const moved = emptyFolder(t)
  cpSync(join(file, '..'), moved, { recursive: true })
  rmSync(file)
  const env = { ...installation.place.env, GATEHOOK_DATABASE_URL: `sqlite:${moved}/gatehook.db` }
  assert.deepEqual((await findingsOf({ place: { cwd: moved, env }, url: '' })).findings, [])
})

/** A server of its own, which the test may stop, with an installation. */
async function installOnServer(t: TestContext, settings?: string[]) {
  const server: PostgresServer = await startPostgres(settings)
  onEnd(t, () => server.stop())
  return { server, ...(await install(t, 'postgres', await createDatabase(server.url))) }
}

for (const [relation, extension] of [
  ['orders', false],
  ['orders', true],
  ['orders_pkey', true],
  ['gh_audit', false],
] as const) {
  const means = extension ? 'with amcheck' : 'without amcheck'
  test(`doctor --deep finds a damaged page of ${relation} ${means}`, async (t) => {
    const { server, ...installation } = await installOnServer(t)
    if (extension) await asAdmin(installation.url, 'CREATE EXTENSION amcheck')
    assert.deepEqual((await findingsOf(installation, '--deep')).findings, [])
    await damagePostgres(server, installation.url, relation)
    const { exit, findings } = await findingsOf(installation, '--deep')
    assert.equal(exit, 1)
    const pages = findings.find(({ check }) => check === 'pages')
    assert.match(pages?.detail ?? '', new RegExp(`^damaged: ${relation}: `))
    assert.match(pages!.hint!, /"The database is damaged"/)
  })
}

test('doctor names settings of a server that lose commits', async (t) => {
  const { server, ...installation } = await installOnServer(t, ['fsync=off'])
  const durability = async () => {
    const { checks } = await jsonOfFailure(installation)
    return checks.find(({ check }: Finding) => check === 'durability')
  }
  assert.deepEqual((await durability()).state, 'fail')
  assert.match((await durability()).detail, /^fsync is off$/)
  await asAdmin(server.url, 'ALTER SYSTEM SET full_page_writes = off')
  await asAdmin(server.url, 'SELECT pg_reload_conf()')
  assert.match((await durability()).detail, /^fsync and full_page_writes are off$/)
})

async function jsonOfFailure({ place }: Installation) {
  const { exit, stdout } = await gatehook(place, 'doctor', '--json')
  assert.equal(exit, 1)
  return JSON.parse(stdout)
}

test('a check rests as long as it works, at most a second, and reports its progress', async () => {
  const lines: string[] = []
  const rests: number[] = []
  let elapsedMs = 0
  const clock = { elapsedMs: () => elapsedMs }
  const pause = async (ms: number) => void rests.push(ms)
  const onPart = createParts({ progress: (line) => void lines.push(line) }, clock, pause)('pages')
  for (const [done, workMs] of [
    [10, 600],
    [20, 700],
    [40, 4_000],
  ] as const) {
    elapsedMs += workMs
    await onPart(done, 40, 'pages')
  }
  assert.deepEqual(rests, [600, 700, 1_000])
  assert.deepEqual(lines, ['pages: 40 of 40 pages (100 %), 9 pages/s'])
})
