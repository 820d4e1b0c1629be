/** PgBouncer in front of a test server, in its mode for transactions. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './postgres.ts'

/** Debian's PgBouncer is outside the path of ordinary users. */
const PROGRAM = ['pgbouncer', '/usr/sbin/pgbouncer'].find(
  (program) => spawnSync(program, ['--version']).status === 0,
)
export const hasPgbouncer = PROGRAM !== undefined

interface PoolerSetting {
  readonly database?: string
  readonly mode?: 'transaction' | 'statement' | 'session'
}

export interface Pgbouncer {
  /** Returns the address of a database of the server, through the pooler. */
  through(url: string): string
  restart(): Promise<void>
  /** Ends the pooler, until `restart`. */
  end(): Promise<void>
  /** Stops the process without ending it; returns the function that lets it continue. */
  freeze(): () => void
  /** Sends further transactions to another server, as an operator does after a failover. */
  pointTo(serverUrl: string): Promise<void>
  /** Changes the configuration: another database than that of the client, another mode. */
  change(setting: PoolerSetting): Promise<void>
  stop(): Promise<void>
}

/** Starts the pooler; its server connections are fewer than the connections of one node. */
export async function startPgbouncer(serverUrl: string, poolSize = 3): Promise<Pgbouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-pgbouncer-'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  let setting: PoolerSetting = {}
  let server = new URL(serverUrl)
  const writeConfiguration = () =>
    writeFile(
      file,
      `[databases]
* = host=${server.hostname} port=${server.port} ${userOf(server)}${databaseOf(server, setting)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${setting.mode ?? 'transaction'}
default_pool_size = ${poolSize}
max_client_conn = 500
server_login_retry = 1
`,
    )
  await writeConfiguration()
  await chmod(folder, 0o755)
  let child: ChildProcess
  const start = async () => {
    // It refuses to run as root.
    const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
    child = spawn(PROGRAM!, ['-q', ...user, file], { stdio: 'ignore' })
    while (!(await accepts(port))) {
      if (child.exitCode !== null) throw new Error('PgBouncer ended at its start')
    }
  }
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
  await start()
  return {
    through(url) {
      const address = new URL(url)
      address.host = `127.0.0.1:${port}`
      return address.href
    },
    async restart() {
      await end()
      await start()
    },
    end,
    freeze() {
      child.kill('SIGSTOP')
      return () => child.kill('SIGCONT')
    },
    async pointTo(serverUrl) {
      server = new URL(serverUrl)
      await writeConfiguration()
      child.kill('SIGHUP')
    },
    async change(changed) {
      setting = changed
      await writeConfiguration()
      child.kill('SIGHUP')
    },
    async stop() {
      await end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const userOf = ({ username, password }: URL): string => `user=${username} password=${password}`

/** The clause for another database than that of the client. */
const databaseOf = ({ pathname }: URL, { database }: PoolerSetting): string => {
  const name = pathname === '/nobody' ? pathname.slice(1) : database
  return name === undefined ? '' : ` dbname=${name}`
}

/** Whether a port accepts connections. */
const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => setTimeout(resolve, 20, false))
  })
