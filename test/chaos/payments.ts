/**
 * The load of the faults: clients that pay from wallets with an idempotency key, send some requests
 * twice at once, repeat each until its result is certain, and read acknowledged payments. After the
 * faults the database is compared with what the clients know.
 */
import { Agent, request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { haproxyCertificate } from '../rig/haproxy.ts'
import { openReceiver, RESENT_MAX } from './kill.ts'
import type { Witness } from './witness.ts'

export interface LoadOptions {
  /** The address of the balancer. */
  readonly url: string
  readonly key: string
  readonly random: () => number
  readonly witness: Witness
  /** Nodes that may have deliveries in flight at a fault. */
  readonly nodes: number
  /** The certificate of `url`; default: that of haproxy. */
  readonly certificate?: Buffer
}

/** The books after the faults. Amounts are those of the database minus those of the clients. */
export interface PaymentAudit {
  readonly acknowledged: number
  readonly requests: number
  /** Requests without a final response: network errors, timeouts, 5xx. */
  readonly failed: number
  readonly failedReads: number
  readonly failedWrites: number
  /** The longest time from a request to its response, whichever it was. */
  readonly longestWaitMs: number
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
  /** The most webhooks that the faults may repeat: those whose result was not yet committed. */
  readonly inFlight: number
  /** Rows whose client has no acknowledgement, and webhooks of events that do not exist. */
  readonly phantom: number
  /** The longest time from a fault to the end of the last request that failed. */
  readonly recoveryMs: number
}

interface HttpReply {
  readonly status: number
  readonly body: string
  /** The position that a read needs to find what the response has acknowledged. */
  readonly readAfter?: string | undefined
}

interface HttpRequest {
  readonly body?: object
  readonly headers?: Readonly<Record<string, string | undefined>>
}

type Query = (text: string) => Promise<Record<string, unknown>[]>

const CLIENTS = 8
/** Further clients that only read: payers repeat a payment that fails, and read none meanwhile. */
const READERS = 2
const WALLETS = 16
/** Every fourth wallet becomes empty, so that clients compete for its last amounts. */
const BALANCES = [60, 1_000_000, 1_000_000, 1_000_000]
const REQUEST_LIMIT_MS = 10_000
const RETRY_MS = 50
/** Payments, and reads, that succeed after a fault has ended. */
const RECOVERED = 40
/** A node whose clock is 60 s ahead postpones its webhooks by as much. */
const WEBHOOK_LIMIT_MS = 90_000

let loadCount = 0

const EXCUSED = new Set([0, 502, 503, 504])

export class PaymentLoad {
  readonly #options: LoadOptions
  readonly #agent: Agent
  /** Rows of another load in the same database have other labels. */
  readonly #prefix = `payment-${++loadCount}-`
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
  readonly #failed = { GET: 0, POST: 0 }
  readonly #succeeded = { GET: 0, POST: 0 }
  #held: PromiseWithResolvers<void> | undefined
  #holding = 0
  #longestWaitMs = 0
  #inFlight = 0
  /** Acknowledged payments that a read did not find. */
  readonly #missing = new Set<number>()
  #next = 0
  #webhookId = ''
  #last: { readonly id: number; readonly readAfter: string | undefined } | undefined

  private constructor(options: LoadOptions, receiver: Awaited<ReturnType<typeof openReceiver>>) {
    this.#options = options
    this.#receiver = receiver
    const ca = options.certificate ?? haproxyCertificate
    this.#agent = new Agent({ keepAlive: true, maxSockets: 4 * CLIENTS, ca })
  }

  /** Creates wallets and a webhook, and starts the clients. */
  static async start(options: LoadOptions): Promise<PaymentLoad> {
    const load = new PaymentLoad(options, await openReceiver(options.random))
    try {
      load.#webhookId = await load.register(load.#receiver.url)
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
    for (let n = 0; n < READERS; n++) load.#clients.push(load.#readOften())
    return load
  }

  /** Registers a further receiver of the payments, and returns the id. */
  async register(url: string): Promise<string> {
    const { id } = await this.#create('/webhooks', { url, events: ['payment.created'] })
    return String(id)
  }

  /** Deletes the registration of this load at a node. */
  async deleteWebhook(nodeUrl: string): Promise<void> {
    const headers = { 'x-api-key': this.#options.key, 'x-forwarded-proto': 'https' }
    await fetch(`${nodeUrl}/webhooks/${this.#webhookId}`, { method: 'DELETE', headers })
  }

  /** Webhooks that have arrived so far. */
  get arrivalCount(): number {
    let count = 0
    for (const arrivals of this.#receiver.arrivals.values()) count += arrivals
    return count
  }

  get requests(): number {
    return this.#requests
  }

  get acknowledged(): ReadonlyMap<string, number> {
    return this.#acknowledged
  }

  /** Starts the time of a fault; failures count for it until the next one. */
  markFault(): void {
    const { witness, nodes } = this.#options
    witness.markFault()
    this.#inFlight += this.#receiver.countAtRisk('server') + nodes * RESENT_MAX
    this.#faults.push({ atMs: performance.now(), lastFailureMs: 0 })
  }

  /** Resolves when this many requests have ended. */
  async until(count: number): Promise<void> {
    while (this.#requests < count) await pause(RETRY_MS)
  }

  /** Requests that have succeeded so far. */
  get succeeded(): Readonly<Record<'GET' | 'POST', number>> {
    return { ...this.#succeeded }
  }

  /** Resolves when the clients pay again. */
  async recovery(): Promise<void> {
    const { GET, POST } = this.#succeeded
    const isSlow = () =>
      this.#succeeded.GET < GET + RECOVERED || this.#succeeded.POST < POST + RECOVERED
    while (isSlow()) await pause(RETRY_MS)
  }

  /** Resolves when every client has its last result; none sends until the returned function. */
  async hold(): Promise<() => void> {
    const held = Promise.withResolvers<void>()
    this.#held = held
    while (this.#holding < this.#clients.length) await pause(RETRY_MS)
    return () => {
      this.#held = undefined
      held.resolve()
    }
  }

  /** Ends the load, and compares the database with the acknowledged payments. */
  async finish(query: Query): Promise<PaymentAudit> {
    this.#isRunning = false
    await Promise.all(this.#clients)
    this.#agent.destroy()
    const rows = await query('SELECT CAST(id AS float8) AS id, label FROM payments')
    const labels = new Map(rows.map(({ id, label }) => [String(label), Number(id)]))
    let lost = 0
    for (const [label, id] of this.#acknowledged) if (labels.get(label) !== id) lost++
    const ids = new Set(rows.map(({ id }) => Number(id)))
    for (const id of this.#replaced) if (!ids.has(id)) lost++
    for (const id of this.#missing) if (ids.has(id)) lost++ // the others are counted already
    const isOwn = (label: string) => label.startsWith(this.#prefix)
    const unexplained = [...labels.keys()].filter(
      (label) => isOwn(label) && !this.#acknowledged.has(label),
    )
    const { undelivered, unknown } = await this.#compareWebhooks(labels, query)
    const resent = this.#receiver.countDoubled()
    this.#receiver.close()
    const times = this.#faults.map(({ atMs, lastFailureMs }) => lastFailureMs - atMs)
    return {
      acknowledged: this.#acknowledged.size,
      requests: this.#requests,
      failed: this.#failed.GET + this.#failed.POST,
      failedReads: this.#failed.GET,
      failedWrites: this.#failed.POST,
      longestWaitMs: Math.round(this.#longestWaitMs),
      wrong: this.#wrong,
      lost: lost + undelivered,
      doubled: rows.length - labels.size,
      doubleSpent: await this.#countDoubleSpent(query),
      resent,
      inFlight: this.#inFlight,
      phantom: unexplained.length + unknown,
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
      const first = this.#wallets.get(Number(id))
      if (first === undefined) continue // of another load
      difference += Math.abs(first - Number(balance) - Number(spent))
    }
    return difference
  }

  /** Waits for the webhooks of the payments that exist; others count as rows. */
  async #compareWebhooks(labels: ReadonlyMap<string, number>, query: Query) {
    const rows = await query(`SELECT id, CAST(object_id AS float8) AS object_id FROM gh_events
      WHERE type = 'payment.created'`)
    const events = new Map(rows.map(({ id, object_id }) => [Number(object_id), String(id)]))
    const ids = [...this.#acknowledged.keys()].flatMap((label) => labels.get(label) ?? [])
    const isMissing = (id: number) => !this.#receiver.delivered.has(events.get(id) ?? '')
    const untilMs = performance.now() + WEBHOOK_LIMIT_MS
    while (ids.some(isMissing) && performance.now() < untilMs) await pause(RETRY_MS)
    const existing = new Set(events.values())
    const unknown = [...this.#receiver.delivered.keys()].filter((id) => !existing.has(id))
    return { undelivered: ids.filter(isMissing).length, unknown: unknown.length }
  }

  /** One client. It ends with a certain result of its last payment. */
  async #pay(): Promise<void> {
    const wallets = [...this.#wallets.keys()]
    while (this.#isRunning) {
      await this.#waitWhileHeld()
      const label = `${this.#prefix}${++this.#next}`
      const wallet_id = wallets[this.#next % wallets.length]!
      const body = { wallet_id, amount: 1, label }
      const isTwin = this.#next % 4 === 0
      await Promise.all(Array.from({ length: isTwin ? 2 : 1 }, () => this.#payOnce(label, body)))
      await this.#read()
    }
  }

  async #readOften(): Promise<void> {
    while (this.#isRunning) {
      await this.#waitWhileHeld()
      await this.#read()
      await pause(RETRY_MS)
    }
  }

  async #waitWhileHeld(): Promise<void> {
    this.#holding++
    await this.#held?.promise
    this.#holding--
  }

  async #payOnce(label: string, body: object): Promise<void> {
    for (;;) {
      const reply = await this.#send('POST', '/api/v1/payments', {
        body,
        headers: { 'idempotency-key': label },
      })
      if (reply.status === 201) {
        const { id } = JSON.parse(reply.body) as { id: number }
        const earlier = this.#acknowledged.get(label)
        if (earlier !== undefined && earlier !== id) this.#replaced.push(earlier)
        this.#acknowledged.set(label, id)
        this.#last = { id, readAfter: reply.readAfter }
        this.#succeeded.POST++
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
    const { id, readAfter } = this.#last
    const headers = { 'gatehook-read-after': readAfter }
    const reply = await this.#send('GET', `/api/v1/payments/${id}`, { headers })
    if (reply.status === 200) this.#succeeded.GET++
    else if (reply.status === 404) this.#missing.add(id)
    else this.#countFailure('GET', reply)
  }

  #countFailure(method: 'GET' | 'POST', { status, body }: HttpReply): void {
    this.#failed[method]++
    this.#options.witness.hear(`${method} ${status}`, sentenceOf(body))
    const fault = this.#faults.at(-1)
    if (fault) fault.lastFailureMs = performance.now()
    if (!EXCUSED.has(status)) this.#wrong.push(`${method} ${status} ${body.slice(0, 200)}`)
  }

  async #create(path: string, body: object): Promise<{ id: number }> {
    for (let tries = 0; ; tries++) {
      const reply = await this.#send('POST', path, { body })
      if (reply.status === 201) return JSON.parse(reply.body)
      // haproxy has not yet found the nodes ready.
      if (reply.status !== 503 || tries === 100) throw new Error(`${path}: ${reply.body}`)
      await pause(RETRY_MS)
    }
  }

  /** Sends a request; a status of 0 is a network error or a timeout. */
  #send(
    method: string,
    path: string,
    { body, headers: own = {} }: HttpRequest = {},
  ): Promise<HttpReply> {
    const { url, key } = this.#options
    const json = body && { 'content-type': 'application/json' }
    const given = Object.entries({ 'x-api-key': key, ...json, ...own })
    const headers = Object.fromEntries(given.filter(([, value]) => value !== undefined))
    const startMs = performance.now()
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
        const readAfter = response.headers['gatehook-read-after'] as string | undefined
        response.once('end', () => resolve({ status: response.statusCode!, body: text, readAfter }))
      },
    )
    sent.once('error', fail)
    sent.end(body && JSON.stringify(body))
    return promise.finally(() => {
      this.#requests++
      this.#longestWaitMs = Math.max(this.#longestWaitMs, performance.now() - startMs)
    })
  }
}

/** Returns code and message of an error's body, or the text of another one. */
function sentenceOf(body: string): string {
  try {
    const { error, message } = JSON.parse(body) as { error: string; message: string }
    return `${error}: ${message}`
  } catch {
    return body
      .replace(/<[^>]*>|\s+/g, ' ')
      .trim()
      .slice(0, 80)
  }
}
