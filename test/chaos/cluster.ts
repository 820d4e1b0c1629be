/** Nodes behind haproxy on one database, as processes that faults kill, stop and replace. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Haproxy, startHaproxy } from '../rig/haproxy.ts'
import { freePort } from '../rig/postgres.ts'
import { ended, MAIN } from './kill.ts'
import { type Release, writeService } from './payments-service.ts'

export interface ClusterOptions {
  readonly nodes: number
  /** The address that nodes use. */
  readonly databaseUrl: string
  /** Becomes the first admin key of the empty database. */
  readonly key: string
  /** For declarations and logs. */
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
}

export interface ClusterNode {
  readonly child: ChildProcess
  readonly url: string
  /** Messages of the log with the level of a warning. */
  readonly warnings: readonly string[]
}

export interface NodeChange {
  readonly release?: Release
  readonly environment?: Readonly<Record<string, string>>
}

/** How long a node may take to listen. */
const START_LIMIT_MS = 30_000

export class Cluster {
  readonly nodes: ClusterNode[] = []
  readonly #options: ClusterOptions
  readonly #ports: readonly number[]
  readonly #balancer: Haproxy

  private constructor(options: ClusterOptions, ports: readonly number[], balancer: Haproxy) {
    this.#options = options
    this.#ports = ports
    this.#balancer = balancer
  }

  /** Starts the nodes in turn, then haproxy. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const ports = await Promise.all(Array.from({ length: options.nodes }, freePort))
    const cluster = new Cluster(options, ports, await startHaproxy(ports))
    try {
      for (const at of ports.keys()) await cluster.replace(at)
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  /** The address of haproxy. */
  get url(): string {
    return this.#balancer.url
  }

  /** Starts the node of this position, whose process has ended. */
  async replace(at: number, change: NodeChange = {}): Promise<ClusterNode> {
    const { databaseUrl, key, folder, environment } = this.#options
    const service = await writeService(folder, change.release ?? 'first')
    const port = this.#ports[at]!
    const child = spawn(process.execPath, [MAIN, 'start', service, '--no-seed'], {
      env: {
        PATH: process.env.PATH ?? '',
        GATEHOOK_PORT: String(port),
        GATEHOOK_DATABASE_URL: databaseUrl,
        GATEHOOK_BOOTSTRAP_KEY: key,
        GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
        GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
        GATEHOOK_WEBHOOK_SCHEDULE_S: '1,1,1,1,1,1,1,1,1',
        GATEHOOK_DELIVERY_RATE: '0',
        GATEHOOK_RATE_LIMIT: '0',
        GATEHOOK_DRAIN_DELAY_S: '3',
        GATEHOOK_TRUST_PROXY: '127.0.0.1',
        ...environment,
        ...change.environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = createWriteStream(join(folder, `node${at + 1}.log`), { flags: 'a' })
    child.stderr!.pipe(log, { end: false })
    const warnings: string[] = []
    const node = { child, url: `http://127.0.0.1:${port}`, warnings }
    this.nodes[at] = node
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS)
    child.once('exit', (code) => reject(new Error(`a node ended with ${code} before it listened`)))
    createInterface({ input: child.stdout! }).on('line', (text) => {
      log.write(`${text}\n`)
      const { level, msg } = JSON.parse(text) as { level: string; msg: string }
      if (level === 'warn') warnings.push(msg)
      if (msg === 'listening') resolve()
    })
    await promise.finally(() => clearTimeout(timer))
    return node
  }

  /** Ends the process of a node. SIGTERM drains it first. */
  async end(at: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child } = this.nodes[at]!
    child.kill(signal)
    await ended(child)
  }

  async stop(): Promise<void> {
    const children = this.nodes.map(({ child }) => child)
    for (const child of children) {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
    }
    await Promise.all(children.map(ended))
    await this.#balancer.stop()
  }
}
