/**
 * The load of the faults: clients that pay from wallets with an idempotency key, send some requests
 * twice at once, repeat each until its result is certain, and read acknowledged payments. After the
 * faults the database is compared with what the clients know.
 */
import { Agent, request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { haproxyCertificate } from '../rig/haproxy.ts'
import { openReceiver } from './kill.ts'

export interface LoadOptions {
  /** The address of the balancer. */
  readonly url: string
  readonly key: string
  readonly random: () => number
}

/** The books after the faults. Amounts are those of the database minus those of the clients. */
export interface PaymentAudit {
  readonly acknowledged: number
  readonly requests: number
  /** Requests without a final response: network errors, timeouts, 5xx. */
  readonly failed: number
  /** Responses that no fault excuses: 500, 4xx. */
  readonly wrong: readonly string[]
  /** Acknowledged payments without a row or, at once or later, without a webhook. */
  readonly lost: number
  /** Rows beyond the first of an idempotency key. */
  readonly doubled: number
  /** Amounts that wallets have paid beyond their balance, or without a payment. */
  readonly doubleSpent: number
  /** Webhooks beyond the first of each delivery. */
  readonly resent: number
  /** The longest time from a fault to the end of the last request that failed. */
  readonly recoveryMs: number
}

interface HttpReply {
  readonly status: number
  readonly body: string
}

type Query = (text: string) => Promise<Record<string, unknown>[]>

const CLIENTS = 8
const WALLETS = 16
/** Every fourth wallet becomes empty, so that clients compete for its last amounts. */
const BALANCES = [60, 1_000_000, 1_000_000, 1_000_000]
const REQUEST_LIMIT_MS = 10_000
const RETRY_MS = 50
/** A node whose clock is 60 s ahead postpones its webhooks by as much. */
const WEBHOOK_LIMIT_MS = 90_000

const EXCUSED = new Set([0, 502, 503, 504])

export class PaymentLoad {
  readonly #options: LoadOptions
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: 4 * CLIENTS,
    ca: haproxyCertificate,
  })
  readonly #receiver: Awaited<ReturnType<typeof openReceiver>>
  /** Wallets by id, with their first balance. */
  readonly #wallets = new Map<number, number>()
  readonly #acknowledged = new Map<string, number>()
  /** Ids that a later response for the same key replaced: after the loss of the first row. */
  readonly #replaced: number[] = []
  readonly #wrong: string[] = []
  readonly #faults: { atMs: number; lastFailureMs: number }[] = []
  readonly #clients: Promise<void>[] = []
  #isRunning = true
  #requests = 0
  #failed = 0
  #missing = 0
  #next = 0
  #last: number | undefined

  private constructor(options: LoadOptions, receiver: Awaited<ReturnType<typeof openReceiver>>) {
    this.#options = options
    this.#receiver = receiver
  }

  /** Creates wallets and a webhook, and starts the clients. */
  static async start(options: LoadOptions): Promise<PaymentLoad> {
    const load = new PaymentLoad(options, await openReceiver(options.random))
    try {
      const hook = { url: load.#receiver.url, events: ['payment.created'] }
      await load.#create('/webhooks', hook)
      for (let n = 0; n < WALLETS; n++) {
        const balance = BALANCES[n % BALANCES.length]!
        const { id } = await load.#create('/api/v1/wallets', { balance })
        load.#wallets.set(id, balance)
      }
    } catch (error) {
      load.#receiver.close()
      throw error
    }
    for (let n = 0; n < CLIENTS; n++) load.#clients.push(load.#pay())
    return load
  }

  get requests(): number {
    return this.#requests
  }

  get acknowledged(): ReadonlyMap<string, number> {
    return this.#acknowledged
  }

  /** Starts the time of a fault; failures count for it until the next one. */
  markFault(): void {
    this.#faults.push({ atMs: performance.now(), lastFailureMs: 0 })
  }

  /** Resolves when this many requests have ended. */
  async until(count: number): Promise<void> {
    while (this.#requests < count) await pause(RETRY_MS)
  }

  /** Ends the load, and compares the database with the acknowledged payments. */
  async finish(query: Query): Promise<PaymentAudit> {
    this.#isRunning = false
    await Promise.all(this.#clients)
    this.#agent.destroy()
    const rows = await query('SELECT CAST(id AS float8) AS id, label FROM payments')
    const labels = new Map(rows.map(({ id, label }) => [String(label), Number(id)]))
    let lost = this.#missing
    for (const [label, id] of this.#acknowledged) if (labels.get(label) !== id) lost++
    const ids = new Set(rows.map(({ id }) => Number(id)))
    for (const id of this.#replaced) if (!ids.has(id)) lost++
    const undelivered = await this.#countUndelivered(labels, query)
    let resent = 0
    for (const count of this.#receiver.arrivals.values()) resent += count - 1
    this.#receiver.close()
    const times = this.#faults.map(({ atMs, lastFailureMs }) => lastFailureMs - atMs)
    return {
      acknowledged: this.#acknowledged.size,
      requests: this.#requests,
      failed: this.#failed,
      wrong: this.#wrong,
      lost: lost + undelivered,
      doubled: rows.length - labels.size,
      doubleSpent: await this.#countDoubleSpent(query),
      resent,
      recoveryMs: Math.round(Math.max(0, ...times)),
    }
  }

  /** Ends the load without an audit. */
  close(): void {
    this.#isRunning = false
    this.#agent.destroy()
    this.#receiver.close()
  }

  async #countDoubleSpent(query: Query): Promise<number> {
    const rows =
      await query(`SELECT CAST(w.id AS float8) AS id, CAST(w.balance AS float8) AS balance,
      CAST(coalesce((SELECT sum(p.amount) FROM payments AS p WHERE p.wallet_id = w.id), 0)
        AS float8) AS spent FROM wallets AS w`)
    let difference = 0
    for (const { id, balance, spent } of rows) {
      const first = this.#wallets.get(Number(id)) ?? 0
      difference += Math.abs(first - Number(balance) - Number(spent))
    }
    return difference
  }

  /** Waits for the webhooks of the payments that exist; others count as rows. */
  async #countUndelivered(labels: ReadonlyMap<string, number>, query: Query): Promise<number> {
    const rows = await query(`SELECT id, CAST(object_id AS float8) AS object_id FROM gh_events
      WHERE type = 'payment.created'`)
    const events = new Map(rows.map(({ id, object_id }) => [Number(object_id), String(id)]))
    const ids = [...this.#acknowledged.keys()].flatMap((label) => labels.get(label) ?? [])
    const isMissing = (id: number) => !this.#receiver.delivered.has(events.get(id) ?? '')
    const untilMs = performance.now() + WEBHOOK_LIMIT_MS
    while (ids.some(isMissing) && performance.now() < untilMs) await pause(RETRY_MS)
    return ids.filter(isMissing).length
  }

  /** One client. It ends with a certain result of its last payment. */
  async #pay(): Promise<void> {
    const wallets = [...this.#wallets.keys()]
    while (this.#isRunning) {
      const label = `payment-${++this.#next}`
      const wallet_id = wallets[this.#next % wallets.length]!
      const body = { wallet_id, amount: 1, label }
      const isTwin = this.#next % 4 === 0
      await Promise.all(Array.from({ length: isTwin ? 2 : 1 }, () => this.#payOnce(label, body)))
      await this.#read()
    }
  }

  async #payOnce(label: string, body: object): Promise<void> {
    for (;;) {
      const reply = await this.#send('POST', '/api/v1/payments', body, label)
      if (reply.status === 201) {
        const { id } = JSON.parse(reply.body) as { id: number }
        const earlier = this.#acknowledged.get(label)
        if (earlier !== undefined && earlier !== id) this.#replaced.push(earlier)
        this.#acknowledged.set(label, id)
        this.#last = id
        return
      }
      const code = reply.status === 409 ? String(JSON.parse(reply.body).error) : ''
      if (code === 'conflict') return
      if (code === '') this.#countFailure('POST', reply)
      await pause(RETRY_MS)
    }
  }

  /** Reads an acknowledged payment, through whichever node. */
  async #read(): Promise<void> {
    if (this.#last === undefined) return
    const reply = await this.#send('GET', `/api/v1/payments/${this.#last}`)
    if (reply.status === 404) this.#missing++
    else if (reply.status !== 200) this.#countFailure('GET', reply)
  }

  #countFailure(method: string, { status, body }: HttpReply): void {
    this.#failed++
    const fault = this.#faults.at(-1)
    if (fault) fault.lastFailureMs = performance.now()
    if (!EXCUSED.has(status)) this.#wrong.push(`${method} ${status} ${body.slice(0, 200)}`)
  }

  async #create(path: string, body: object): Promise<{ id: number }> {
    for (let tries = 0; ; tries++) {
      const reply = await this.#send('POST', path, body)
      if (reply.status === 201) return JSON.parse(reply.body)
      // haproxy has not yet found the nodes ready.
      if (reply.status !== 503 || tries === 100) throw new Error(`${path}: ${reply.body}`)
      await pause(RETRY_MS)
    }
  }

  /** Sends a request; a status of 0 is a network error or a timeout. */
  #send(method: string, path: string, body?: object, idempotencyKey?: string): Promise<HttpReply> {
    const { url, key } = this.#options
    const headers: Record<string, string> = { 'x-api-key': key }
    if (body) headers['content-type'] = 'application/json'
    if (idempotencyKey) headers['idempotency-key'] = idempotencyKey
    const signal = AbortSignal.timeout(REQUEST_LIMIT_MS)
    const { promise, resolve } = Promise.withResolvers<HttpReply>()
    const fail = (error: Error) => resolve({ status: 0, body: error.message })
    const sent = request(
      url + path,
      { method, headers, agent: this.#agent, signal },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.once('error', fail)
        response.once('end', () => resolve({ status: response.statusCode!, body: text }))
      },
    )
    sent.once('error', fail)
    sent.end(body && JSON.stringify(body))
    return promise.finally(() => this.#requests++)
  }
}
