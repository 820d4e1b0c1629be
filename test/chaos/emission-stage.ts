/** A PostgreSQL with the tables of a team, and Gatehook beside them with one receiver (§17.2). */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { bindChild } from '../rig/child-processes.ts'
import { asAdmin, type PostgresServer, startPostgres } from '../rig/postgres.ts'
import { ended, MAIN, type Node, startNode } from './kill.ts'

const SERVICE = `import { event, f, fields, service } from 'gatehook'
const paid = event('invoice.paid', fields({ id: f.string().max(60) }))
export const api = service({ name: 'Acme', versions: { v1: { released: '2026-06-01' } },
  resources: [], externalEvents: [{ event: paid, from: ['sql'] }] })
`
const TEAM = `CREATE ROLE gh_node LOGIN PASSWORD 'node';
  CREATE ROLE app_rw LOGIN PASSWORD 'app';
  CREATE SCHEMA gatehook AUTHORIZATION gh_node;
  CREATE SCHEMA app AUTHORIZATION app_rw;
  CREATE TABLE app.invoices (id text PRIMARY KEY);
  ALTER TABLE app.invoices OWNER TO app_rw`
const GRANT = ['--grant', 'app_rw', '--all-customers', '--mode', 'live']

export interface EmissionStage {
  readonly server: PostgresServer
  /** The address of the database for the role of the application. */
  readonly applicationUrl: string
  /** For the packages of applications. */
  readonly folder: string
  startNode(): Promise<Node>
  /** Registers a receiver at a node. */
  register(node: Node, receiver: string): Promise<void>
  close(): Promise<void>
}

function urlFor(server: PostgresServer, user: string, password: string): string {
  const url = new URL(server.url)
  url.username = user
  url.password = password
  return url.href
}

/** A later run of the command may succeed (§18.7): on a busy machine the database is late. */
const RETRY = 75

/** Runs a command until it exits with 0. Throws for another status that no repeat changes. */
async function run(args: readonly string[], env: Record<string, string>): Promise<void> {
  const started = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const child = bindChild(started)
  await ended(child)
  if (child.exitCode === RETRY) return run(args, env)
  if (child.exitCode !== 0) throw new Error(`gatehook ${args.join(' ')}: ${child.exitCode}`)
}

export async function openEmissionStage(): Promise<EmissionStage> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-emit-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'service.ts'), SERVICE)
  // A commit waits for the operating system, which outlives each killed process.
  const server = await startPostgres(['fsync=off'])
  opened.defer(server.stop)
  await asAdmin(server.url, TEAM)
  const key = generateApiKey(systemRandom(), 'live')
  const databaseUrl = urlFor(server, 'gh_node', 'node')
  const env = { GATEHOOK_DATABASE_SCHEMA: 'gatehook' }
  const all = {
    ...env,
    GATEHOOK_DATABASE_URL: databaseUrl,
    GATEHOOK_BOOTSTRAP_KEY: key,
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  }
  await run(['migrate', '--dir', folder], all)
  await run(['outbox', 'install', '--dir', folder, ...GRANT], all)
  const closing = opened.move()
  return {
    server,
    applicationUrl: urlFor(server, 'app_rw', 'app'),
    folder,
    startNode: () => startNode({ databaseUrl, key, folder, env }),
    async register(node, receiver) {
      const response = await fetch(`${node.url}/webhooks`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ url: receiver, events: ['invoice.paid'] }),
      })
      if (response.status !== 201) throw new Error(`no registration: ${await response.text()}`)
    },
    close: () => closing.disposeAsync(),
  }
}
