/**
 * The requests of one connection that have no answer, and whether it hangs while its server answers
 * others: the network has lost the connection, or the process of its session is frozen
 * (§18.1). Reads no clock, and sends nothing.
 */
import { HungConnectionError } from './postgres-errors.ts'
import { STATEMENT_MS } from './postgres-hosts.ts'

/** The part of a connection of pg that the watch uses. */
export interface WatchedConnection {
  readonly stream: {
    readonly bytesRead: number
    readonly bytesWritten: number
    destroy(error?: Error): unknown
  }
  /** The texts of prepared statements, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>
  connect(port: number | string, host?: string): void
  query(text: string): void
  parse(query: { readonly text: string }): void
  bind(config: { readonly statement?: string | undefined }, ...more: unknown[]): void
  sync(): void
  end(): void
  on(event: 'readyForQuery', listener: (message?: { readonly status?: string }) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'errorMessage', listener: (error: unknown) => void): unknown
  emit(event: 'error', error: Error): unknown
}

/** The report of a server on the session of a connection. */
export interface SessionReport {
  /** `waiting`: for a message of the node; `absent`: the server has no such session. */
  readonly state: 'waiting' | 'busy' | 'absent'
  /** When the state began. */
  readonly since: string
  /** The time that its current statement takes, in ms. */
  readonly busyMs: number
}

/** A session whose connection hangs, and that waits for its node. */
export interface LostSession {
  readonly processId: number
  /** When it began to wait. */
  readonly since: string
}

/** The answer of a server to a probe; empty if it refused the connection. */
export interface ServerAnswer {
  /** Reports by the process of the session. */
  readonly sessions?: ReadonlyMap<number, SessionReport>
  /** `statement_timeout` in ms; 0: none. */
  readonly limitMs?: number
}

/** The watch counts ticks, in each of which the event loop runs: a busy process proves nothing. */
export const TICK_MS = 250
/** Ticks without a byte after which the server is queried about the session: 1 s. */
export const SLOW_TICKS = 4
/** Ticks without a byte before which no connection hangs: 2 s, and more for a long message. */
const HUNG_TICKS = 8
/** Ticks for which a pool of a pooler counts as exhausted: 10 s. */
const STARVED_TICKS = 40
/** Ticks after a hung connection for which no pool counts as exhausted: a minute. */
const REPLACED_TICKS = 240
const BYTES_PER_TICK = 65_536
/** Answers of the server that say the same. */
const REPORTS = 2
/** The same of a pooler, about a request that begins a transaction. */
const POOLER_ANSWERS = 4
/** The server ends a statement first. */
const LATER_MS = 2_000

/** In place of a report: the server should have answered, whatever it executes. */
const QUICK = 'quick'

const UNLIMITED = /^SET LOCAL statement_timeout = 0\b/

export class FollowedConnection {
  readonly #connection: WatchedConnection
  readonly #isPooled: boolean
  /** Whether `statement_timeout` limits its statements. */
  readonly #isLimited: boolean
  /** Requests without an answer: whether it executes at once, however busy the server is. */
  readonly #requests: boolean[] = []
  #isOpen = false
  #isUnlimited = false
  #isIdentified = false
  #processId: number | undefined
  #ticks = 0
  #bytesRead = 0
  #bytesWritten = 0
  /** The report of the server since the last byte, and how often it has repeated it. */
  #report: { readonly key: string; readonly count: number } | undefined

  constructor(connection: WatchedConnection, isPooled: boolean, isLimited: boolean) {
    this.#connection = connection
    this.#isPooled = isPooled
    this.#isLimited = isLimited
  }

  /** The process of its session; undefined: not known. */
  get processId(): number | undefined {
    return this.#processId
  }

  get pendingCount(): number {
    return this.#requests.length
  }

  /** Whether it has opened. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  get isSlow(): boolean {
    return this.#ticks >= SLOW_TICKS
  }

  /** Whether a pooler has begun no transaction of it for a second, nor its session. */
  get isStarved(): boolean {
    return this.#isPooled && this.isSlow && this.#requests[0] === true
  }

  /** Whether the server has reported, at least once, that it has no request of the connection. */
  get isSuspect(): boolean {
    return this.#report !== undefined
  }

  /** Notes the text of a statement that is sent. */
  noteText(text: string | undefined): void {
    if (text !== undefined && UNLIMITED.test(text)) this.#isUnlimited = true
  }

  /** Notes the process of its session; a pooler changes it after each transaction. */
  identify(processId: number | undefined): void {
    this.#isIdentified = true
    if (!this.#isPooled) this.#processId = processId
  }

  /** Notes the process of its transaction behind a pooler. */
  noteTransaction(processId: number): void {
    this.#processId = processId
  }

  /** Notes that it opens, which has a limit of its own. */
  open(): void {
    this.#requests.push(false)
  }

  /** Notes a request. That for the process is short, and so is a begin behind a pooler. */
  add(text = ''): void {
    this.noteText(text)
    this.#requests.push(!this.#isIdentified || (this.#isPooled && text.startsWith('BEGIN')))
  }

  /** Notes the request to end the session. */
  addEnd(): void {
    this.#requests.push(true)
  }

  /** Notes the answer to the first request. */
  answer(status: string | undefined): void {
    this.#isOpen = true
    this.#requests.shift()
    if (status === 'I') this.#endTransaction()
    this.#restart()
  }

  /** Returns whether bytes have arrived since the last tick. */
  tick(): boolean {
    const hasRead = this.#connection.stream.bytesRead !== this.#bytesRead
    if (this.#requests.length === 0 || hasRead) this.#restart()
    else this.#ticks++
    return hasRead
  }

  /**
   * Decides by the answer to a probe that began after `isSlow`. `limitMs`: the last one that the
   * server has reported. Returns whether the connection hangs.
   */
  decide({ sessions }: ServerAnswer, limitMs: number): boolean {
    if (!this.isSlow) return false
    const report = this.processId === undefined ? undefined : sessions?.get(this.processId)
    if (sessions) this.#count(report)
    return this.#isUnknown() || this.#isOver(report, limitMs)
  }

  /** Ends the connection, whose requests then fail. */
  cut(error?: Error): void {
    this.#connection.stream.destroy(error)
  }

  #endTransaction(): void {
    this.#isUnlimited = false
    if (this.#isPooled) this.#processId = undefined
  }

  #count(report: SessionReport | undefined): void {
    const isIdle = report !== undefined && report.state !== 'busy'
    if (!isIdle && this.#requests[0] !== true) {
      this.#report = undefined
      return
    }
    const key = isIdle ? `${report.state} ${report.since}` : QUICK
    const count = key === this.#report?.key ? this.#report.count + 1 : 1
    this.#report = { key, count }
  }

  /** Whether the server has reported for long that it has no request of the connection. */
  #isUnknown(): boolean {
    const sentBytes = this.#connection.stream.bytesWritten - this.#bytesWritten
    const isLong = this.#ticks >= HUNG_TICKS + sentBytes / BYTES_PER_TICK
    if (!isLong || !this.#report) return false
    const { key, count } = this.#report
    return count >= (this.#isPooled && key === QUICK ? POOLER_ANSWERS : REPORTS)
  }

  /** Whether the server should have ended the statement. */
  #isOver(report: SessionReport | undefined, limitMs: number): boolean {
    if (!this.#isLimited || this.#isUnlimited || limitMs === 0) return false
    if (report && report.state !== 'busy') return false
    return (report?.busyMs ?? this.#ticks * TICK_MS) > limitMs + LATER_MS
  }

  #restart(): void {
    this.#ticks = 0
    this.#report = undefined
    this.#bytesRead = this.#connection.stream.bytesRead
    this.#bytesWritten = this.#connection.stream.bytesWritten
  }
}

/** The connections to one server. */
export class FollowedConnections {
  readonly #all = new Set<FollowedConnection>()
  #limitMs = STATEMENT_MS
  /** Ticks since the last byte. */
  #unreadTicks = 0
  /** Ticks since a pooler began a transaction late, while it answered others. */
  #servedTicks = STARVED_TICKS
  /** Ticks since a connection was cut that the server answers no more, though no limit ended. */
  #replacedTicks = REPLACED_TICKS

  add(connection: FollowedConnection): void {
    this.#all.add(connection)
  }

  delete(connection: FollowedConnection): void {
    this.#all.delete(connection)
  }

  get hasPending(): boolean {
    return [...this.#all].some(({ pendingCount }) => pendingCount > 0)
  }

  get hasOpen(): boolean {
    return [...this.#all].some(({ isOpen }) => isOpen)
  }

  /**
   * Whether a pooler, which answered others, began no transaction of one, just now. A pooler serves
   * in order: if a later probe has its answer first, the network has lost the connection, and is
   * likely to lose others.
   */
  get areStarved(): boolean {
    const isLost = this.#replacedTicks < REPLACED_TICKS || this.hasSuspect
    return this.#servedTicks < STARVED_TICKS && !isLost
  }

  get hasSuspect(): boolean {
    return [...this.#all].some(({ isSuspect }) => isSuspect)
  }

  listSlow(): readonly FollowedConnection[] {
    return [...this.#all].filter(({ isSlow }) => isSlow)
  }

  /** Whether bytes have arrived within 2 s, also on a connection that opens. */
  get isHeard(): boolean {
    return this.#unreadTicks < HUNG_TICKS
  }

  /**
   * Returns whether bytes have arrived on an open connection since the last tick. `isAnswered`:
   * whether the server has answered others within a second.
   */
  tick(isAnswered: boolean): boolean {
    const readers = [...this.#all].filter((connection) => connection.tick())
    this.#unreadTicks = readers.length > 0 ? 0 : this.#unreadTicks + 1
    const isStarved = [...this.#all].some((connection) => connection.isStarved)
    this.#servedTicks = isStarved && isAnswered ? 0 : this.#servedTicks + 1
    this.#replacedTicks++
    return readers.some(({ isOpen }) => isOpen)
  }

  cutAll(): void {
    for (const connection of this.#all) connection.cut()
  }

  /**
   * Cuts those of the slow ones that hang, by the answer to a probe. Returns their number, and the
   * sessions that they leave at the server.
   */
  cutHung(slow: readonly FollowedConnection[], answer: ServerAnswer) {
    this.#limitMs = answer.limitMs ?? this.#limitMs
    const hung = slow.filter((connection) => connection.decide(answer, this.#limitMs))
    // A pool that is truly full keeps a transaction beyond its limit, and no probe overtakes it.
    if (hung.some(({ isSuspect }) => isSuspect)) this.#replacedTicks = 0
    const lost = hung.flatMap(({ processId }): LostSession | [] => {
      const report = processId === undefined ? undefined : answer.sessions?.get(processId)
      return report?.state === 'waiting' ? { processId: processId!, since: report.since } : []
    })
    for (const connection of hung) connection.cut(new HungConnectionError())
    return { count: hung.length, lost }
  }
}
