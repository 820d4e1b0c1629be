/** Nodes behind haproxy on one database, as processes that faults kill, stop and replace. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type Haproxy, startHaproxy } from '../rig/haproxy.ts'
import { freePort } from '../rig/postgres.ts'
import { ended, MAIN } from './kill.ts'
import { type Release, writeService } from './payments-service.ts'
import type { Witness } from './witness.ts'

export interface ClusterOptions {
  readonly nodes: number
  /** Further positions behind haproxy, whose nodes start later. */
  readonly spares?: number
  /** The address that nodes use. */
  readonly databaseUrl: string
  /** Becomes the first admin key of the empty database. */
  readonly key: string
  /** For declarations and logs. */
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
  readonly release?: Release
  /** Arguments of each start. */
  readonly args?: readonly string[]
  readonly witness: Witness
}

export interface ClusterNode {
  readonly child: ChildProcess
  readonly url: string
  /** Messages of the log with the level of a warning. */
  readonly warnings: readonly string[]
}

/** A command that has ended, or a start that was refused. */
export interface CommandEnd {
  readonly exit: number | null
  readonly stdout: string
  /** Of both streams. */
  readonly output: string
}

export interface NodeChange {
  readonly release?: Release
  /** More arguments of the command. */
  readonly args?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Runs as this user; default: that of the test. */
  readonly uid?: number
}

interface LogLine {
  readonly level: string
  readonly msg: string
  readonly err?: { readonly message: string }
}

/** Lines of the log of each failed request, whose codes the load reports. */
const PER_REQUEST = new Set(['request', 'detail'])

/** Lines of a command that the witness records. */
const WITNESSED_LINES = 60

/** How long a node may take to listen. */
const START_LIMIT_MS = 90_000

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
    const { nodes, spares = 0 } = options
    const ports = await Promise.all(Array.from({ length: nodes + spares }, freePort))
    const cluster = new Cluster(options, ports, await startHaproxy(ports))
    try {
      for (let at = 0; at < nodes; at++) await cluster.replace(at)
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
    const { folder, witness } = this.#options
    const { child, port } = await this.#launch(at, change)
    const log = createWriteStream(join(folder, `node${at + 1}.log`), { flags: 'a' })
    child.stderr!.pipe(log, { end: false })
    const warnings: string[] = []
    const scheme = change.environment?.GATEHOOK_TLS_CERT ? 'https' : 'http'
    const node = { child, url: `${scheme}://127.0.0.1:${port}`, warnings }
    this.nodes[at] = node
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS)
    child.once('exit', (code) => reject(new Error(`a node ended with ${code} before it listened`)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      log.write(`${line}\n`)
      const { level, msg, err } = JSON.parse(line) as LogLine
      if (level === 'warn') warnings.push(msg)
      const sentence = err ? `${msg}: ${err.message}` : msg
      if (level !== 'info' && !PER_REQUEST.has(msg)) witness.hear(`log of node${at + 1}`, sentence)
      if (msg === 'listening') resolve()
    })
    await promise.finally(() => clearTimeout(timer))
    return node
  }

  /** Starts a node that refuses to serve. Its log says why. */
  async startRefused(at: number, change: NodeChange = {}): Promise<CommandEnd> {
    const { child } = await this.#launch(at, change)
    return this.#endOf('gatehook start', child)
  }

  /** Runs a command with the options of the nodes, in the folder of a release. */
  async run(args: readonly string[], { release, environment }: NodeChange = {}) {
    const { folder } = this.#options
    const service = await writeService(folder, release ?? this.#options.release ?? 'first')
    const env = { ...this.#environment(), ...environment }
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: service, env })
    return this.#endOf(`gatehook ${args.join(' ')}`, child)
  }

  async #launch(at: number, { release, args, environment, uid }: NodeChange) {
    const { folder } = this.#options
    const service = await writeService(folder, release ?? this.#options.release ?? 'first')
    const port = this.#ports[at]!
    const all = args ?? this.#options.args ?? []
    const own = { GATEHOOK_PORT: String(port), GATEHOOK_NODE_NAME: `node${at + 1}` }
    const child = spawn(process.execPath, [MAIN, 'start', service, '--no-seed', ...all], {
      env: { ...this.#environment(), ...own, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid !== undefined && { uid, gid: uid }),
    })
    return { child, port }
  }

  async #endOf(command: string, child: ChildProcess): Promise<CommandEnd> {
    const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS)
    const [stdout, errors] = await Promise.all([text(child.stdout!), text(child.stderr!)])
    await ended(child)
    clearTimeout(timer)
    const exit = child.exitCode
    const output = `${stdout}\n${errors}`
    // An export prints rows.
    for (const line of output.split('\n').slice(0, WITNESSED_LINES)) {
      const sentence = line.startsWith('{"level') ? (JSON.parse(line) as LogLine).msg : line.trim()
      if (sentence) this.#options.witness.hear(`${command}, exit ${exit}`, sentence)
    }
    return { exit, stdout, output }
  }

  #environment(): Record<string, string> {
    const { databaseUrl, key, environment } = this.#options
    return {
      PATH: process.env.PATH ?? '',
      GATEHOOK_DATABASE_URL: databaseUrl,
      GATEHOOK_BOOTSTRAP_KEY: key,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
      GATEHOOK_WEBHOOK_SCHEDULE_S: '1,1,1,1,1,1,1,1,1',
      GATEHOOK_DELIVERY_RATE: '0',
      GATEHOOK_RATE_LIMIT: '0',
      GATEHOOK_TRUST_PROXY: '127.0.0.1',
      ...environment,
    }
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
