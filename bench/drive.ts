/**
 * Drives N keep-alive connections without pipelining: each sends its next request after a response.
 * Plain sockets, because an HTTP client would cost more than a fast server.
 */
import { connect, type Socket } from 'node:net'
import { Histogram, type Percentiles } from './histogram.ts'
import { ResponseReader } from './response.ts'

/** One request as bytes, ready to be written. */
export interface Wire {
  readonly bytes: Buffer
  /** Whether the response to HEAD has no body. */
  readonly bodiless: boolean
  /** Bytes of the response after `before` replace those at `at` before the next use. */
  readonly renewed?: { readonly at: number; readonly length: number; readonly before: Buffer }
}

export interface RunOptions {
  readonly connections: number
  /** Further ports; connections are distributed over all. */
  readonly also?: readonly number[]
  /** Duration of the run. At least one of `seconds` and `count` is set. */
  readonly seconds?: number
  /** Number of requests in the run. */
  readonly count?: number
  /** Number of responses retained for the content check, spread over the run. */
  readonly samples: number
}

export interface Sample {
  /** Index of the request in the list. */
  readonly index: number
  readonly status: number
  readonly head: string
  readonly body: string
}

export interface Outcome {
  /** Responses within the duration, per second. */
  readonly rate: number
  readonly seconds: number
  /** All responses, including those after the duration. */
  readonly answers: number
  readonly statuses: Readonly<Record<number, number>>
  /** Errors of connections and their counts. */
  readonly errors: Readonly<Record<string, number>>
  /** Latencies of all responses from write to the last byte, microseconds. */
  readonly latency: Percentiles
  readonly samples: readonly Sample[]
  /** CPU time of this process ÷ wall time; near 1, the generator was the limit. */
  readonly busy: number
}

const ANSWER_LIMIT_MS = 10_000
const CHUNK_BYTES = 65_536

/** Sends the list cyclically from `start`. The next run starts at `next`. */
export async function drive(
  port: number,
  requests: readonly Wire[],
  start: number,
  options: RunOptions,
): Promise<Outcome & { next: number }> {
  const run = new Run(requests, start, options)
  const ports = [port, ...(options.also ?? [])]
  const lanes = Array.from(
    { length: options.connections },
    (_, n) => new Lane(ports[n % ports.length]!, run),
  )
  await Promise.all(lanes.map((lane) => lane.opened))
  const outcome = await run.go(lanes)
  for (const lane of lanes) lane.close()
  return outcome
}

/** The state that all connections of one run share: next request, clock, counts. */
class Run {
  readonly #requests: readonly Wire[]
  readonly #options: RunOptions
  readonly #histogram = new Histogram()
  readonly #statuses: number[] = []
  readonly #errors: Record<string, number> = {}
  readonly #samples: Sample[] = []
  readonly #finished = Promise.withResolvers<void>()
  #next: number
  #left: number
  #startMs = 0
  #endMs = Number.POSITIVE_INFINITY
  #lastMs = 0
  #inTime = 0
  #answers = 0
  #busy = 0
  #sampleAfter = 0

  constructor(requests: readonly Wire[], start: number, options: RunOptions) {
    this.#requests = requests
    this.#options = options
    this.#next = start % requests.length
    this.#left = options.count ?? Number.POSITIVE_INFINITY
  }

  async go(lanes: readonly Lane[]): Promise<Outcome & { next: number }> {
    const cpu = process.cpuUsage()
    this.#startMs = performance.now()
    if (this.#options.seconds) this.#endMs = this.#startMs + this.#options.seconds * 1000
    this.#busy = lanes.length
    for (const lane of lanes) lane.send()
    const overdue = setInterval(() => {
      const now = performance.now()
      for (const lane of lanes) lane.expire(now - ANSWER_LIMIT_MS)
    }, 1000)
    await this.#finished.promise
    clearInterval(overdue)
    const { user, system } = process.cpuUsage(cpu)
    const seconds = this.#options.seconds ?? (this.#lastMs - this.#startMs) / 1000
    return {
      rate: this.#inTime / seconds,
      seconds,
      answers: this.#answers,
      statuses: { ...this.#statuses },
      errors: this.#errors,
      latency: this.#histogram.percentiles(),
      samples: this.#samples,
      busy: (user + system) / 1e6 / ((performance.now() - this.#startMs) / 1000),
      next: this.#next,
    }
  }

  /** Returns the index of the next request; -1 at the end of the run. */
  take(nowMs: number): number {
    if (nowMs >= this.#endMs || this.#left <= 0) {
      if (--this.#busy === 0) this.#finished.resolve()
      return -1
    }
    this.#left--
    const index = this.#next
    this.#next = index + 1 === this.#requests.length ? 0 : index + 1
    return index
  }

  request(index: number): Wire {
    return this.#requests[index]!
  }

  answered(index: number, reader: ResponseReader, sentMs: number, nowMs: number): void {
    this.#answers++
    this.#lastMs = nowMs
    if (nowMs <= this.#endMs) this.#inTime++
    this.#histogram.add((nowMs - sentMs) * 1000)
    const { bytes, renewed } = this.#requests[index]!
    if (renewed && !reader.copyBehind(renewed, bytes))
      this.addError('the response has no renewed value')
    const { status } = reader
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
    if (this.#answers > this.#sampleAfter && this.#samples.length < this.#options.samples) {
      this.#samples.push({ index, status, head: reader.head(), body: reader.body() })
      // Growing steps: samples of the first and of later responses, for any number.
      this.#sampleAfter = this.#answers * 1.6
    }
  }

  addError(error: string): void {
    this.#errors[error] = (this.#errors[error] ?? 0) + 1
  }
}

/** One connection, with at most one request in flight. */
class Lane {
  readonly opened: Promise<void>
  readonly #port: number
  readonly #run: Run
  readonly #reader = new ResponseReader()
  readonly #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #socket: Socket | undefined
  #index = -1
  #bodiless = false
  #sentMs = 0

  constructor(port: number, run: Run) {
    this.#port = port
    this.#run = run
    this.opened = this.#open()
  }

  #open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: this.#buffer,
        callback: (length) => {
          if (socket === this.#socket) this.#read(length)
          return true
        },
      },
    })
    this.#socket = socket
    socket.once('connect', resolve)
    socket.once('error', (error) => {
      reject(error)
      this.#lost(socket, String((error as NodeJS.ErrnoException).code ?? error.message))
    })
    socket.once('close', () => this.#lost(socket, 'closed'))
    return promise
  }

  send(): void {
    const now = performance.now()
    this.#index = this.#run.take(now)
    if (this.#index < 0) return
    const wire = this.#run.request(this.#index)
    this.#bodiless = wire.bodiless
    this.#sentMs = now
    this.#socket!.write(wire.bytes)
  }

  #read(length: number): void {
    let complete: boolean
    try {
      complete = this.#reader.feed(this.#buffer, length, this.#bodiless)
    } catch (error) {
      this.#lost(this.#socket!, String((error as Error).message))
      return
    }
    if (!complete || this.#index < 0) return
    this.#run.answered(this.#index, this.#reader, this.#sentMs, performance.now())
    this.#index = -1
    if (this.#reader.closes) this.#reopen()
    else this.send()
  }

  /** Gives up a request that was sent before `limitMs` and has no response. */
  expire(limitMs: number): void {
    if (this.#index >= 0 && this.#sentMs < limitMs) this.#lost(this.#socket!, 'no response in 10 s')
  }

  #lost(socket: Socket, error: string): void {
    if (socket !== this.#socket) return
    const waiting = this.#index >= 0
    if (waiting) this.#run.addError(error)
    this.#index = -1
    if (waiting) this.#reopen()
  }

  #reopen(): void {
    const old = this.#socket!
    this.#socket = undefined
    old.destroy()
    this.#reader.reset()
    this.#open().then(
      () => this.send(),
      (error) => {
        this.#run.addError(`reconnect: ${(error as Error).message}`)
        setTimeout(() => this.#reopen(), 100)
      },
    )
  }

  close(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.destroy()
  }
}
