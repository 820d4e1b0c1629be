/** §18.1: readiness and metrics say in which way the primary of the database is away. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { freePort, queryAsAdmin, startPostgres } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import type { TimelineGuard } from '../../src/platform/storage/postgres-timeline.ts'
import {
  faultThroughPooler,
  isPrimarySentence,
  type PrimaryFault,
  primaryFaults,
} from '../../src/platform/storage/primary-fault.ts'
import { createServerComparison } from '../../src/platform/storage/server-comparison.ts'

const ROLE = 'node'

type Server = Awaited<ReturnType<typeof startPostgres>>
interface Place {
  readonly server: Server
  readonly pooler: Pgbouncer | undefined
}
/** Injects a fault; returns the function that ends it. */
type Inject = (place: Place) => Promise<() => unknown> | (() => unknown)

const freezeServer: Inject = ({ server }) => server.freeze()
const endServer: Inject = async ({ server }) => {
  await server.halt('immediate')
  return server.start
}
const takeConnections: Inject = async ({ server }) => {
  await queryAsAdmin(server.url, `ALTER ROLE ${ROLE} CONNECTION LIMIT 0`)
  const sessions = `FROM pg_stat_activity WHERE usename = '${ROLE}'`
  await queryAsAdmin(server.url, `SELECT pg_terminate_backend(pid) ${sessions}`)
  return () => queryAsAdmin(server.url, `ALTER ROLE ${ROLE} CONNECTION LIMIT -1`)
}
const allowNone: Inject = async ({ server }) => {
  const name = `d${databases}`
  await queryAsAdmin(server.url, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  const sessions = `FROM pg_stat_activity WHERE datname = '${name}'`
  await queryAsAdmin(server.url, `SELECT pg_terminate_backend(pid) ${sessions}`)
  return () => queryAsAdmin(server.url, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
}
const forbid: Inject = async ({ server }) => {
  const name = `d${databases}`
  await queryAsAdmin(server.url, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC, ${ROLE}`)
  const sessions = `FROM pg_stat_activity WHERE datname = '${name}'`
  await queryAsAdmin(server.url, `SELECT pg_terminate_backend(pid) ${sessions}`)
  return () => queryAsAdmin(server.url, `GRANT CONNECT ON DATABASE ${name} TO ${ROLE}`)
}
/** Changes the role of the node, and ends its sessions. */
const changeBy =
  (change: string, restore: string): Inject =>
  async ({ server }) => {
    await queryAsAdmin(server.url, change)
    const sessions = `FROM pg_stat_activity WHERE datname = 'd${databases}'`
    await queryAsAdmin(server.url, `SELECT pg_terminate_backend(pid) ${sessions}`)
    return () => queryAsAdmin(server.url, restore)
  }
const rejectHost: Inject = async ({ server }) => {
  const [{ file, text }] = (await queryAsAdmin(
    server.url,
    `SELECT current_setting('hba_file') AS file, pg_read_file(current_setting('hba_file')) AS text`,
  )) as [{ file: string; text: string }]
  const write = async (rules: string) => {
    await writeFile(file, rules)
    await queryAsAdmin(server.url, 'SELECT pg_reload_conf()')
  }
  await write(`host d${databases} all all reject\n${text}`)
  await queryAsAdmin(
    server.url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'd${databases}'`,
  )
  return () => write(text)
}
const freezePooler: Inject = ({ pooler }) => pooler!.freeze()
const endPooler: Inject = async ({ pooler }) => {
  await pooler!.end()
  return pooler!.restart
}
/** The pooler has an address at which no server listens. */
const misdirectPooler: Inject = async ({ server, pooler }) => {
  const wrong = new URL(server.url)
  wrong.port = String(await freePort())
  await pooler!.pointTo(wrong.href)
  const right = new URL(server.url)
  right.username = right.password = ROLE
  return () => pooler!.pointTo(right.href)
}

/** The pooler signs in with another user, or to another database. */
const misnamePooler =
  (member: 'username' | 'pathname'): Inject =>
  async ({ server, pooler }) => {
    const right = new URL(server.url)
    right.username = right.password = ROLE
    right.pathname = ''
    const wrong = new URL(right.href)
    wrong[member] = 'nobody'
    await pooler!.pointTo(wrong.href)
    return () => pooler!.pointTo(right.href)
  }

const useStatementMode: Inject = async ({ pooler }) => {
  await pooler!.change({ mode: 'statement' })
  await pooler!.restart()
  return async () => {
    await pooler!.change({})
    await pooler!.restart()
  }
}
const LIBRARY = 'session_preload_libraries'
const loadMissing = changeBy(
  `ALTER ROLE ${ROLE} SET ${LIBRARY} = 'missing'`,
  `ALTER ROLE ${ROLE} RESET ${LIBRARY}`,
)

type Route = 'without a pooler' | 'through a pooler' | 'through a pooler, with a direct address'
const cases: readonly (readonly [Route, string, Inject, PrimaryFault])[] = [
  ['without a pooler', 'a frozen server', freezeServer, 'silent'],
  ['without a pooler', 'a server that ended', endServer, 'refused'],
  ['without a pooler', 'a role without a free connection', takeConnections, 'full_role'],
  ['without a pooler', 'a database that allows no connections', allowNone, 'disallowed'],
  ['without a pooler', 'a role that may not connect', forbid, 'forbidden'],
  [
    'without a pooler',
    'a role with another password',
    changeBy(`ALTER ROLE ${ROLE} PASSWORD 'other'`, `ALTER ROLE ${ROLE} PASSWORD '${ROLE}'`),
    'password',
  ],
  [
    'without a pooler',
    'a role that was renamed, of which PostgreSQL says as much',
    changeBy(
      `ALTER ROLE ${ROLE} RENAME TO ${ROLE}_of_others`,
      `ALTER ROLE ${ROLE}_of_others RENAME TO ${ROLE}`,
    ),
    'password',
  ],
  [
    'without a pooler',
    'a role that may not log in',
    changeBy(`ALTER ROLE ${ROLE} NOLOGIN`, `ALTER ROLE ${ROLE} LOGIN`),
    'no_login',
  ],
  ['without a pooler', 'a host that pg_hba.conf rejects', rejectHost, 'host_rules'],
  ['without a pooler', 'a library that is missing', loadMissing, 'library'],
  ['through a pooler, with a direct address', 'a library that is missing', loadMissing, 'library'],
  ['through a pooler', 'a pooler that runs single statements', useStatementMode, 'pooler_mode'],
  ['through a pooler', 'a server that ended', endServer, 'pooler_unserved'],
  ['through a pooler', 'a wrong user of the pooler', misnamePooler('username'), 'pooler_rejected'],
  ['through a pooler', 'a wrong database', misnamePooler('pathname'), 'pooler_rejected'],
  ['through a pooler', 'a pooler that ended', endPooler, 'pooler_refused'],
  ['through a pooler, with a direct address', 'a frozen server', freezeServer, 'silent'],
  ['through a pooler, with a direct address', 'a server that ended', endServer, 'refused'],
  [
    'through a pooler, with a direct address',
    'a role without a free connection',
    takeConnections,
    'full_role',
  ],
  ['through a pooler, with a direct address', 'a frozen pooler', freezePooler, 'pooler_stuck'],
  ['through a pooler, with a direct address', 'a pooler that ended', endPooler, 'pooler_refused'],
  [
    'through a pooler, with a direct address',
    'a pooler with a wrong address',
    misdirectPooler,
    'pooler_stuck',
  ],
  [
    'through a pooler, with a direct address',
    'a wrong user of the pooler',
    misnamePooler('username'),
    'pooler_rejected',
  ],
]

let server: Server
test.before(async () => {
  server = await startPostgres(['fsync=off'])
  await queryAsAdmin(server.url, `CREATE ROLE ${ROLE} LOGIN PASSWORD '${ROLE}'`)
})
test.after(() => server.stop())

let databases = 0
async function openPlace(t: TestContext, route: Route) {
  const database = `d${++databases}`
  await queryAsAdmin(server.url, `CREATE DATABASE ${database} OWNER ${ROLE}`)
  const direct = new URL(server.url)
  direct.username = direct.password = ROLE
  direct.pathname = database
  const isPooled = route !== 'without a pooler'
  const pooler = isPooled ? await startPgbouncer(direct.href) : undefined
  onEnd(t, () => pooler?.stop())
  const env = {
    ...(isPooled && { GATEHOOK_DATABASE_POOLER: 'transaction' }),
    ...(route.endsWith('address') && { GATEHOOK_DATABASE_DIRECT_URL: direct.href }),
  }
  const url = pooler?.through(direct.href) ?? direct.href
  const node = await openService(t, 'postgres', { url, env, log: quietLog })
  return { node, place: { server, pooler } }
}

const faultOf = async (node: TestApp): Promise<string | undefined> =>
  /^gatehook_database_fault\{fault="(\w+)"\} 1/m.exec((await node.get('/metrics')).text)?.[1]

const sentenceOf = async (node: TestApp): Promise<string | undefined> => {
  const { reasons } = (await node.as(undefined).get('/readyz')).body
  return reasons.find(({ check }: { check: string }) => check === 'primary')?.message
}

/** Returns the other checks that blame the primary, or say nothing of it. */
const repeatingOf = async (node: TestApp): Promise<readonly string[]> => {
  const { reasons } = (await node.as(undefined).get('/readyz')).body
  return reasons.flatMap(({ check, message }: { check: string; message: string }) =>
    check !== 'primary' && (isPrimarySentence(message) || message.startsWith('No answer'))
      ? [check]
      : [],
  )
}

test('a direct address names what new sessions lack, beside one that is open', async (t) => {
  const database = `d${++databases}`
  await queryAsAdmin(server.url, `CREATE DATABASE ${database} OWNER ${ROLE}`)
  const { hostname: host, port } = new URL(server.url)
  const config = { host, port: Number(port), user: ROLE, password: ROLE, database }
  const guard = {
    noteOther: async (client: pg.Client) => {
      await client.query('SELECT 1')
      return { standby: false }
    },
    origin: { describe: () => undefined },
  } as unknown as TimelineGuard
  const newClient = (of: pg.ClientConfig) => new pg.Client(of)
  const comparison = createServerComparison([{ label: '', all: [config] }], guard, newClient)
  onEnd(t, () => comparison.close())
  await comparison.compare(false)
  await queryAsAdmin(server.url, `ALTER ROLE ${ROLE} SET ${LIBRARY} = 'missing'`)
  onEnd(t, () => queryAsAdmin(server.url, `ALTER ROLE ${ROLE} RESET ${LIBRARY}`))
  await comparison.compare(false)
  assert.equal(comparison.faultOf([config]), null, 'the open session goes on')
  await comparison.compare(true)
  assert.equal(comparison.faultOf([config]), 'library')
  assert.equal(faultThroughPooler('pooler_unserved', comparison.faultOf([config])), 'library')
})

for (const [route, name, inject, fault] of cases) {
  const skip = route !== 'without a pooler' && !hasPgbouncer && 'needs PgBouncer'
  test(`${route}, ${name} is named`, { skip }, async (t) => {
    const { node, place } = await openPlace(t, route)
    assert.equal((await node.get('/readyz')).status, 200)
    assert.equal(await faultOf(node), undefined)
    let end: (() => unknown) | undefined = await inject(place)
    const heal = async () => {
      const current = end
      end = undefined
      await current?.()
    }
    onEnd(t, heal)
    const isNamed = (sentence: string | undefined) => sentence === primaryFaults[fault]
    const sentence = await eventually(() => sentenceOf(node), isNamed)
    assert.equal(sentence, primaryFaults[fault])
    // A node that probes again names another fault for an instant.
    await eventually(
      () => faultOf(node),
      (named) => named === fault,
    )
    const others = await eventually(
      () => repeatingOf(node),
      (checks) => checks.length === 0,
    )
    assert.deepEqual(others, [], 'the other checks leave it to the primary')
    const stranger = node.as('gh_live_0000000000000000000000000000000000000000000')
    const refused = await eventually(
      () => stranger.get('/admin/system'),
      ({ body }) => body.message?.endsWith(primaryFaults[fault]),
    )
    assert.deepEqual([refused.status, refused.body.error], [503, 'storage_unavailable'])
    await heal()
    const isReady = ({ status }: { status: number }) => status === 200
    await eventually(() => node.get('/readyz'), isReady)
    await eventually(
      () => faultOf(node),
      (named) => named === undefined,
    )
  })
}
