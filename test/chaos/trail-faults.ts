/**
 * Data that leaves: the audit trail to an archive whose key reads nothing else, and a customer that
 * is exported and deleted. A node is killed on the way.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { booksOf } from './books.ts'
import { getFrom, PROXIED, send } from './node-requests.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import { auditFault, needHaproxy, type OperatorFaults, withDatabase } from './under-load.ts'

/** Keys that are created while the archive reads, half of them before the kill. */
const KEYS = 60
/** Rows of the customer that leaves. */
const WALLETS = 200
const AT_ONCE = 20
const WITHIN_MS = 60_000
const POLL_MS = 200

/** Creates a key by the command line. */
async function createKey({ cluster }: OperatorFaults, ...options: readonly string[]) {
  const command = ['keys', 'create', '--name', 'k', '--mode', 'live', ...options, '--json']
  return JSON.parse((await cluster.run(command)).stdout) as { id: string; key: string }
}

interface TrailRow {
  readonly id: string
  readonly seq: number
}

/** Reads the trail from any node that answers, each time after the last row that it has. */
function followTrail({ cluster }: OperatorFaults, key: string) {
  const rows: TrailRow[] = []
  let isRunning = true
  const readOnce = async (at: number) => {
    const path = `/admin/audit?after=${rows.at(-1)?.seq ?? 0}`
    const { status, text } = await getFrom(cluster.nodes[at]!.url + path, { 'x-api-key': key })
    if (status === 200) rows.push(...(JSON.parse(text) as { data: TrailRow[] }).data)
  }
  const run = async () => {
    for (let n = 0; isRunning; n++) {
      await readOnce(n % cluster.nodes.length).catch(() => undefined) // the node was killed
      await pause(POLL_MS / 10)
    }
  }
  const running = run()
  return {
    rows,
    async stop() {
      isRunning = false
      await running
    },
  }
}

/** Follows the stream of the trail; after the kill of its node, at the next one. */
function followStream({ cluster }: OperatorFaults, key: string) {
  const rows: TrailRow[] = []
  const ending = new AbortController()
  const { signal } = ending
  const followOnce = async (at: number) => {
    const path = `/admin/audit/stream?after=${rows.at(-1)?.seq ?? 0}`
    const headers = { 'x-api-key': key, ...PROXIED }
    const { body } = await fetch(cluster.nodes[at]!.url + path, { headers, signal })
    let text = ''
    for await (const part of body!.pipeThrough(new TextDecoderStream())) {
      const messages = (text + part).split('\n\n')
      text = messages.pop()!
      for (const message of messages) {
        const [, data] = /^data: (.+)$/m.exec(message) ?? []
        if (data) rows.push(JSON.parse(data) as TrailRow)
      }
    }
  }
  const run = async () => {
    for (let n = 1; !signal.aborted; n++) {
      await followOnce(n % cluster.nodes.length).catch(() => pause(POLL_MS / 10))
    }
  }
  const running = run()
  return {
    rows,
    async stop() {
      ending.abort()
      await running
    },
  }
}

const archiveTrail = (context: ChaosContext): Promise<ChaosCounts> =>
  withDatabase('postgres', context, (databaseUrl) => {
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return auditFault(context, world, async (faults) => {
      const { load, cluster, key, expect } = faults
      load.markFault()
      const archive = await createKey(faults, '--scopes', 'audit:read')
      const scraper = await createKey(faults, '--scopes', 'metrics:read')
      const [node] = cluster.nodes
      for (const [path, audit, metrics] of [
        ['/admin/audit?after=0', 200, 403],
        ['/metrics', 403, 200],
        ['/admin/customers', 403, 403],
      ] as const) {
        const byArchive = (await send(node!.url, archive.key, 'GET', path)).status
        const byScraper = (await send(node!.url, scraper.key, 'GET', path)).status
        const statuses = `${byArchive} and ${byScraper}`
        expect(byArchive === audit && byScraper === metrics, `${path} is ${statuses}`)
      }
      const archives = {
        pages: followTrail(faults, archive.key),
        stream: followStream(faults, archive.key),
      }
      const create = (n: number) => {
        const { url } = cluster.nodes[n % cluster.nodes.length]!
        const body = { name: `k${n}`, mode: 'live', scopes: ['r'] }
        return send(url, key, 'POST', '/admin/keys', body).catch(() => undefined)
      }
      const numbers = Array.from({ length: KEYS / 2 }, (_, n) => n)
      await Promise.all(numbers.map(create))
      const later = numbers.map(create)
      await cluster.end(1, 'SIGKILL')
      await Promise.all(later)
      await cluster.replace(1)
      const { stdout } = await cluster.run(['audit', 'export'])
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as TrailRow)
      const complete = lines.flatMap(({ id }) => id ?? []) // the last line has the sum
      expect(complete.length > KEYS / 2, `the trail has ${complete.length} rows`)
      const untilMs = performance.now() + WITHIN_MS
      for (const [name, { rows, stop }] of Object.entries(archives)) {
        while (rows.length < complete.length && performance.now() < untilMs) await pause(POLL_MS)
        await stop()
        const ids = new Set(rows.map(({ id }) => id))
        const missed = complete.filter((id) => !ids.has(id)).length
        expect(missed === 0, `the archive by ${name} misses ${missed} rows of the trail`)
        expect(ids.size === rows.length, `the archive by ${name} has rows twice`)
      }
      await load.recovery()
    })
  })

const deleteCustomer = (context: ChaosContext): Promise<ChaosCounts> =>
  withDatabase('postgres', context, (databaseUrl) => {
    const world = { databaseUrl, booksUrl: () => databaseUrl }
    return auditFault(context, world, async (faults) => {
      const { load, cluster, key: admin, expect, report } = faults
      const node = () => cluster.nodes[0]!.url
      const created = await send(node(), admin, 'POST', '/admin/customers', { name: 'Leaving' })
      const { id } = JSON.parse(created.text) as { id: string }
      const { key } = await createKey(faults, '--customer', id, '--scopes', 'r,w')
      const create = async () => {
        const { status } = await send(node(), key, 'POST', '/api/v1/wallets', { balance: 5 })
        expect(status === 201, `a row of the customer is ${status}`)
      }
      for (let n = 0; n < WALLETS; n += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, create))
      }
      load.markFault()
      const { stdout } = await cluster.run(['customers', 'export', id])
      const lines = stdout.split('\n').filter((line) => line.startsWith('{"table":"wallets"'))
      expect(lines.length === WALLETS, `the export has ${lines.length} rows of ${WALLETS}`)
      expect(!stdout.includes(key), 'the export has the secret of a key')
      await cluster.run(['customers', 'delete', id, '--force'])
      await cluster.end(1, 'SIGKILL')
      await cluster.replace(1)
      report('a node was killed during the deletion')
      const untilMs = performance.now() + WITHIN_MS
      const isLeft = async () =>
        (await send(node(), admin, 'GET', `/admin/customers/${id}`)).status !== 404
      while ((await isLeft()) && performance.now() < untilMs) await pause(POLL_MS)
      expect(!(await isLeft()), 'the customer is not deleted')
      const [row] = await booksOf(databaseUrl)(`SELECT count(*) AS count FROM wallets
        WHERE balance = 5`)
      expect(Number(row!.count) === 0, `${row!.count} rows of the customer are left`)
      const refused = (await send(node(), key, 'GET', '/api/v1/wallets')).status
      expect(refused === 403, `a key of the deleted customer gets ${refused}`)
      const { exit } = await cluster.run(['audit', 'verify'])
      expect(exit === 0, `the audit chain is verified with ${exit}`)
      await load.recovery()
    })
  })

const scenario = (
  rest: Pick<ChaosScenario, 'name' | 'title' | 'run' | 'words'>,
): ChaosScenario => ({ groups: ['operate'], nodes: [2], missing: needHaproxy, ...rest })

export const trailFaults: readonly ChaosScenario[] = [
  scenario({
    name: 'audit-archive',
    title: 'archives follow the trail, by pages and by its stream, while a node is killed',
    run: archiveTrail,
  }),
  scenario({
    name: 'deleted-customer',
    title: 'a customer is exported and deleted beside others while a node is killed',
    words: [/gatehook customers delete .*, exit 0: /],
    run: deleteCustomer,
  }),
]
