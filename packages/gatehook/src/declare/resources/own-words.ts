/**
 * The words that all code of the team has (§15.1): `log`, `signal`, and `fetch` where it may use
 * the network. They concern the request or the attempt at a job that runs the code.
 */
import type { Log } from '../../kernel/log.ts'
import { redactBody, redactText } from '../../kernel/redaction.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import { requestOf } from '../../protocol/idempotency/transaction-request.ts'
import { handled } from './awaited-words.ts'

interface LogLine {
  (message: string): void
  (data: object, message: string): void
}

/** Writes lines of the engine's log, with the ids of the request or the job, without secrets. */
export interface OwnLog {
  readonly debug: LogLine
  readonly info: LogLine
  readonly warn: LogLine
  readonly error: LogLine
}

export interface OwnContext {
  /**
   * Writes a line of the log, with the ids of the request or the job: `log.info('charged')`,
   * `log.warn({ charge_id }, 'declined')`. Secret fields, credentials and what exceeds the bounds
   * of a line are left out.
   */
  readonly log: OwnLog
  /** Aborts when the code's work is no longer of use; pass it to what can end early. */
  readonly signal: AbortSignal
}

/** The ids of a line, by which it is found beside those of the engine. */
type LogFacts = Readonly<Record<string, string | number | undefined>>
export type CreateOwnLog = (factsOf: () => LogFacts) => OwnLog

const MESSAGE_CHARACTERS = 1_000

/**
 * @param log default: drops the lines
 * @param secrets the names of secret fields
 */
export function createOwnLogs(log: Log | undefined, secrets: ReadonlySet<string>): CreateOwnLog {
  const dataOf = (data: object): unknown => {
    try {
      return redactBody(data, secrets).value
    } catch {
      return undefined // an object whose members cannot be read
    }
  }
  return (factsOf) => {
    const line =
      (level: keyof OwnLog): LogLine =>
      (...given: readonly unknown[]) => {
        if (!log?.isLevelEnabled(level)) return
        const data = given.find((value) => typeof value === 'object' && value !== null)
        const message = given.find((value) => typeof value === 'string') ?? ''
        const text = redactText(String(message).slice(0, MESSAGE_CHARACTERS), secrets)
        log[level]({ ...factsOf(), ...(data && { data: dataOf(data) }) }, text)
      }
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }
}

const WORDS = Symbol('words')

interface WordsTx extends Tx {
  [WORDS]?: OwnContext
}

/** Sets the words of the code that a transaction of a job runs. */
export function setWordsOf(tx: Tx, words: OwnContext): void {
  const own: WordsTx = tx
  own[WORDS] = words
}

/** Returns the words of the code that a transaction runs: those of its job, or of its request. */
export function wordsOf(tx: WordsTx, createLog: CreateOwnLog): OwnContext {
  tx[WORDS] ??= wordsOfCall(requestOf(tx), createLog)
  return tx[WORDS]
}

/** The engine's own work, such as sample rows, does not end early. */
const ENDLESS = new AbortController().signal

export const wordsOfCall = (call: Call | undefined, createLog: CreateOwnLog): OwnContext => ({
  log: createLog(() => factsOfCall(call)),
  signal: call?.signal ?? ENDLESS,
})

export const factsOfCall = (call: Call | undefined): LogFacts => ({
  request_id: call?.id,
  customer: call?.principal?.customer,
  mode: call?.principal?.mode,
})

/** Returns a `fetch` that ends with a signal, and with that of its options or its `Request`. */
export const fetchUntil = (guardedFetch: typeof fetch, signalOf: () => AbortSignal): typeof fetch =>
  handled((input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const given = [init?.signal, input instanceof Request ? input.signal : undefined]
    const signals = [signalOf(), ...given.filter((signal) => signal instanceof AbortSignal)]
    return guardedFetch(input, { ...init, signal: AbortSignal.any(signals) })
  })
