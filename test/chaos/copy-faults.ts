/**
 * Copies of an installation that serve beside it, or after it: restored data posts nothing, assigns
 * no id again and revives no revoked key for long; an undone move leaves one side that writes.
 */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../rig/eventually.ts'
import { installedPostgres, startInstalledPostgres } from '../rig/installed-postgres.ts'
import { createDatabase, type PostgresServer, queryAsAdmin, withName } from '../rig/postgres.ts'
import { type Books, booksOf } from './books.ts'
import { Cluster } from './cluster.ts'
import { send } from './node-requests.ts'
import { PaymentLoad } from './payments.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  needHaproxy,
  type OperatorFaults,
  verifyAudit,
  withDatabase,
} from './under-load.ts'
import { watch } from './watch.ts'

/** Requests after the copy was taken, and on the copy. */
const REQUESTS = 300
interface Copy {
  readonly url: string
  /** Arguments of the first start, where it cannot recognize the copy by itself. */
  readonly args: readonly string[]
  stop(): Promise<void>
}

/** A backup under load that is restored elsewhere. */
async function restoreBackup({ cluster, folder, expect }: OperatorFaults): Promise<Copy> {
  const file = join(folder, 'b.gatehook')
  const url = `sqlite:${join(folder, 'copy', 'gatehook.db')}`
  const environment = { GATEHOOK_DATABASE_URL: url }
  expect((await cluster.run(['backup', file])).exit === 0, 'the backup fails')
  expect((await cluster.run(['restore', file], { environment })).exit === 0, 'the restore fails')
  return { url, args: [], stop: async () => {} }
}

/** A copy of the whole data folder, promoted. */
async function copyVolume(databaseUrl: string, server: PostgresServer): Promise<Copy> {
  const copy = await server.openStandby()
  await queryAsAdmin(copy.url, 'SELECT pg_promote()')
  const url = withName(copy.url, new URL(databaseUrl).pathname.slice(1))
  return { url, args: ['--restored'], stop: () => copy.stop() }
}

/** The commands of the guide, while the nodes write; they name neither file nor address. */
async function restoreDump(
  { cluster, folder, databaseUrl, expect }: OperatorFaults,
  serverUrl: string,
): Promise<Copy> {
  const file = join(folder, 'b.dump')
  const url = await createDatabase(serverUrl)
  const run = async (tool: string, address: string) => {
    const [, command = ''] = new RegExp(`\`(${tool} [^\`]+)\``).exec(readFileSync(GUIDE, 'utf8'))!
    const script = command.replace("'postgres://…'", `'${address}'`).replace('FILE', file)
    const env = { ...process.env, PATH: `${installedPostgres}:${process.env.PATH}` }
    await promisify(execFile)('sh', ['-ec', script], { env })
  }
  await run('pg_dump', databaseUrl)
  await run('pg_restore', url)
  const record = await cluster.run(['backup', '--record', file])
  expect(record.exit === 0, `a dump is recorded with ${record.exit}`)
  return { url, args: [], stop: async () => {} }
}

const GUIDE = join(import.meta.dirname, '../../docs/guides/backup.md')

/** Returns the status of a read with a key, straight from a node. */
async function statusOf(url: string, key: string): Promise<number> {
  const headers = { 'x-api-key': key, 'x-forwarded-proto': 'https' }
  return (await fetch(`${url}/api/v1/payments`, { headers })).status
}

const PERSON = { username: 'ann@example.test', password: 'a rather long pass phrase' }

/** Signs a person in, and returns the refresh token. */
async function signIn(node: string, admin: string): Promise<string> {
  const { username: email, password } = PERSON
  const person = { email, password, mode: 'live' }
  const created = await send(node, admin, 'POST', '/admin/users', person)
  if (created.status !== 201) throw new Error(`no person: ${created.text}`)
  return tokenOf(await send(node, undefined, 'POST', '/auth/login', PERSON))
}

const refresh = (node: string, refresh_token: string) =>
  send(node, undefined, 'POST', '/auth/refresh', { refresh_token })

const tokenOf = ({ text }: { readonly text: string }) =>
  String((JSON.parse(text) as { refresh_token?: string }).refresh_token)

/** Sends a payment again with its idempotency key, and returns the id of the response. */
async function repeatPayment(node: string, key: string, label: string, books: Books) {
  const query = `SELECT CAST(wallet_id AS float8) AS wallet_id, CAST(amount AS float8) AS amount
    FROM payments WHERE label = '${label}'`
  const body = { ...(await books(query))[0], label }
  const headers = { 'idempotency-key': label }
  const { text } = await send(node, key, 'POST', '/api/v1/payments', body, headers)
  return (JSON.parse(text) as { id?: number }).id
}

interface Revoked {
  readonly key: string
  /** A token that the session of a person received since the copy. */
  readonly refreshToken: string
  /** The audit trail since the copy, as `gatehook audit export` prints it. */
  readonly trail: string
}

/** Starts the copy beside the former receivers, revokes again, and releases it. */
async function serveCopy(
  faults: OperatorFaults,
  copy: Copy,
  revoked: Revoked,
  usedIds: Set<number>,
) {
  const { load, key, random, witness, expect } = faults
  const folder = join(faults.folder, 'restored')
  await mkdir(folder)
  const options = { nodes: 1, databaseUrl: copy.url, key, folder, witness, args: copy.args }
  const arrivals = load.arrivalCount
  load.markFault()
  const cluster = await Cluster.start(options)
  const endWatch = watch({ cluster, key, witness })
  const own = await PaymentLoad.start({ url: cluster.url, key, random, witness, nodes: 1 })
  try {
    await own.until(REQUESTS)
    await witness.until(/readyz 200: restore/)
    await witness.until(/attention: bad restore_held/)
    const posted = load.arrivalCount - arrivals + own.arrivalCount
    expect(posted === 0, `the copy has posted ${posted} webhooks before its release`)
    const repeated = [...own.acknowledged.values()].filter((id) => usedIds.has(id))
    expect(repeated.length === 0, `${repeated.length} ids were assigned twice`)
    const { url } = cluster.nodes[0]!
    const [label, id] = [...load.acknowledged][0]!
    const again = await repeatPayment(url, key, label, booksOf(copy.url))
    expect(again === id, `payment ${id} of the former installation is repeated as ${again}`)
    const session = await refresh(url, revoked.refreshToken)
    expect(session.status === 401, `a session of the former installation is ${session.status}`)
    const alarms = await cluster.run([
      'audit',
      'list',
      '--action',
      'token.reuse_detected',
      '--json',
    ])
    const { data } = JSON.parse(alarms.stdout) as { data: readonly unknown[] }
    expect(data.length === 0, 'the end of a session is an alarm')
    expect((await statusOf(url, revoked.key)) === 200, 'the copy knows the revocation')
    const apply = await cluster.run(['restore', '--revocations', revoked.trail])
    expect(apply.exit === 0, `the revocations end with ${apply.exit}`)
    const isRevoked = () => statusOf(url, revoked.key)
    await eventually(isRevoked, (status) => status === 403)
    await load.deleteWebhook(url) // its receiver belongs to the other installation
    expect((await cluster.run(['restore', 'release'])).exit === 0, 'the release fails')
    const audit = verifyAudit(await own.finish(booksOf(copy.url)))
    for (const fault of audit.faults) expect(false, `on the copy: ${fault}`)
  } finally {
    own.close()
    await endWatch()
    await cluster.stop()
  }
}

/** Takes a copy under load, and lets it serve while the nodes of the original are away. */
function restoreData(
  context: ChaosContext,
  databaseUrl: string,
  take: (faults: OperatorFaults) => Promise<Copy>,
): Promise<ChaosCounts> {
  const world = { databaseUrl, booksUrl: () => databaseUrl }
  return auditFault(context, world, async (faults) => {
    const { load, cluster, folder, report, key: adminKey } = faults
    const create = ['keys', 'create', '--name', 'a', '--scopes', 'r', '--json']
    const created = JSON.parse((await cluster.run(create)).stdout) as { id: string; key: string }
    const { id, key } = created
    const first = await signIn(cluster.nodes[0]!.url, adminKey)
    load.markFault()
    const copy = await take(faults)
    try {
      await load.until(load.requests + REQUESTS)
      const refreshToken = tokenOf(await refresh(cluster.nodes[0]!.url, first))
      await cluster.run(['keys', 'revoke', id])
      const trail = join(folder, 'audit.ndjson')
      writeFileSync(trail, (await cluster.run(['audit', 'export'])).stdout)
      const resume = await load.hold()
      for (const at of cluster.nodes.keys()) await cluster.end(at, 'SIGKILL')
      report('the copy starts')
      const usedIds = new Set(load.acknowledged.values())
      await serveCopy(faults, copy, { key, refreshToken, trail }, usedIds)
      for (const at of cluster.nodes.keys()) await cluster.replace(at)
      resume()
      await load.recovery()
    } finally {
      await copy.stop()
    }
  })
}

/** With a server whose tools fit it. */
async function restoreOwnDump(context: ChaosContext): Promise<ChaosCounts> {
  const server = await startInstalledPostgres()
  try {
    const url = await createDatabase(server.url)
    return await restoreData(context, url, (faults) => restoreDump(faults, server.url))
  } finally {
    await server.stop()
  }
}

/** The target has rows of its own when the move is undone. */
const undoMove = (context: ChaosContext): Promise<ChaosCounts> =>
  withDatabase('postgres', context, (target) =>
    withDatabase('sqlite', context, (databaseUrl) => {
      const world = { databaseUrl, booksUrl: () => target, spares: 1 }
      return auditFault(context, world, async ({ load, cluster, expect, report }) => {
        load.markFault()
        const environment = { GATEHOOK_MOVE_TO: target }
        const moved = await cluster.run(['move'], { environment })
        expect(moved.exit === 0, `the move ends with ${moved.exit}`)
        await cluster.end(0, 'SIGKILL')
        await cluster.replace(1, { environment: { GATEHOOK_DATABASE_URL: target } })
        report('a node serves from the target')
        await load.recovery()
        load.markFault()
        const undone = await cluster.run(['move', '--undo'], { environment })
        expect(undone.exit === 1, `move --undo ends with ${undone.exit}`)
        expect((await cluster.run(['doctor'])).exit === 1, 'doctor finds no move')
        const late = await cluster.run(['customers', 'create', 'Late'])
        expect(late.exit !== 0, 'the source accepts writes too')
        await load.recovery()
      })
    }),
  )

type Restored = Pick<ChaosScenario, 'name' | 'nodes' | 'run' | 'title'> & Partial<ChaosScenario>

const restored = (rest: Restored): ChaosScenario => ({
  groups: ['operate'],
  words: [
    /readyz 200: restore: The data was restored/,
    /log of node1: the data was restored/,
    /attention: bad restore_held/,
    /attention: bad revocations_unknown/,
  ],
  missing: needHaproxy,
  ...rest,
})

const COPY = 'serves beside the receivers of the original, without its last writes'

export const copyFaults: readonly ChaosScenario[] = [
  restored({
    name: 'restored-copy-sqlite',
    title: `a restored backup ${COPY}`,
    nodes: [1],
    run: (context) =>
      withDatabase('sqlite', context, (url) => restoreData(context, url, restoreBackup)),
  }),
  restored({
    name: 'restored-copy-postgres',
    title: `a copy of the volume ${COPY}`,
    nodes: [2],
    run: (context) =>
      withDatabase('postgres', context, (url, server) =>
        restoreData(context, url, () => copyVolume(url, server!)),
      ),
  }),
  restored({
    name: 'restored-dump',
    title: `a dump, taken under load and restored beside its database, ${COPY}`,
    nodes: [2],
    missing: () => needHaproxy() ?? (installedPostgres ? undefined : 'PostgreSQL is not installed'),
    run: restoreOwnDump,
  }),
  {
    name: 'undone-move',
    title: 'a move is undone after writes to its target',
    groups: ['operate'],
    nodes: [1],
    words: [
      /gatehook move --undo, exit 1: .*rows that this database lacks.*of payments/,
      /gatehook customers create Late, exit \d+: .*read-only/,
      /gatehook doctor, exit 1: move +fail .*was moved to/,
    ],
    missing: needHaproxy,
    run: undoMove,
  },
]
