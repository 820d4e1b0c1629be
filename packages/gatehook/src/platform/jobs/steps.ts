/**
 * The steps of an attempt at a job (§15.6). The result of a step is stored before the next one
 * runs, and later attempts receive it. No transaction is open while the code of a step runs.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database, Tx, WriteOptions } from '../storage/database.ts'
import type { JobAttempt } from './job.ts'
import * as store from './steps-store.ts'
import { STEP_PURPOSE, stepRow } from './tables.ts'

/** The largest result as JSON. */
const RESULT_MAX_BYTES = 65_536
/** The steps of a job. */
const STEPS_MAX = 1_000
/** How long after its beginning a step without a result may run again: upstreams keep keys. */
export const REPEAT_FOR_MS = 86_400_000
const NAME = /^[A-Za-z0-9][^\p{C}]{0,199}$/u

export interface StepDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
}

/** The steps of one attempt. A step that throws ends the attempt, even if its code catches it. */
export interface AttemptSteps {
  /** Rejects with the error that ended the attempt. */
  readonly ended: Promise<never>
  /** Aborts when the attempt ends with an error, that of a parallel step included. */
  readonly signal: AbortSignal
  /** Throws the error that ended the attempt, if there is one. */
  throwIfEnded(): void
  /** Ends the attempt with an error, unless one has ended it. */
  end(error: unknown): void
  /** Returns the text of a step that may use the network. */
  effect(name: string, run: (key: string) => Promise<string>): Promise<string>
  /** Returns the text of a step that reads. */
  read(name: string, run: () => Promise<string>): Promise<string>
  /** Returns the text of a step that is one transaction; its result commits with it. */
  write(name: string, run: (tx: Tx) => Promise<string>, options?: WriteOptions): Promise<string>
  /** Returns the stored response of a job that answers a request, if there is one. */
  readResponse(): Promise<string | undefined>
  storeResponse(text: string): Promise<void>
}

/** The attempt whose step's code runs. */
const inside = new AsyncLocalStorage<string>()

/** Returns the key of a step: the same at each attempt, and shared with no other job or caller. */
const stepKey = (origin: string, name: string): string =>
  hash('sha256', JSON.stringify([origin, name]), 'base64url')

const lostJob = () => new Error('another attempt runs this job')

const unknownOutcome = (name: string) =>
  new Failure(
    'step_outcome_unknown',
    `The step ${name} began more than 24 hours ago, and its outcome is unknown.`,
  )

/** Whether an error of an attempt is final: a further attempt would end with it, too. */
export const isUnknownOutcome = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'step_outcome_unknown'

/** The results of the steps of an attempt, as rows. */
function createResults({ db, clock, random, vault }: StepDeps, attempt: JobAttempt) {
  const { id: job, scope, signal } = attempt
  const holder = random.bytes(12).toString('hex')
  let opening: Promise<ReadonlyMap<string, store.StepRow>> | undefined
  const open = async () => {
    const rows = await db.write((tx) => store.holdSteps(tx, attempt, holder, clock.now()))
    if (!rows) throw lostJob()
    return new Map(rows.map((row) => [row.name, row]))
  }
  const requireHeldIn = async (tx: Tx): Promise<void> => {
    if (!(await store.isHeldBy(tx, job, holder))) throw lostJob()
    signal.throwIfAborted()
  }
  const storeIn = async (tx: Tx, name: string, text: string | null): Promise<void> => {
    const result = text === null ? null : vault.encrypt(STEP_PURPOSE, stepRow(job, name), text)
    await store.storeStep(tx, { job, name, scope, result, now: clock.now() })
    await requireHeldIn(tx)
  }
  const find = async (name: string) => {
    opening ??= open()
    return (await opening).get(name)
  }
  return {
    holder,
    find,
    storeIn,
    store: (name: string, text: string | null) => db.write((tx) => storeIn(tx, name, text)),
    /** Throws if another attempt runs the job: it may have stored a step that has none here. */
    requireHeld: () => db.write(requireHeldIn),
    /** Returns the stored text of a step; undefined if it may run. */
    async findText(name: string): Promise<string | undefined> {
      const row = await find(name)
      if (row?.is_stored) {
        const result = await store.findResult(db, job, name)
        if (result) return vault.decrypt(STEP_PURPOSE, stepRow(job, name), result).toString()
      }
      if (row && row.begun_at <= clock.now() - REPEAT_FOR_MS) throw unknownOutcome(name)
      return undefined
    },
  }
}

function requireFits(name: string, text: string): string {
  const size = Buffer.byteLength(text)
  if (size <= RESULT_MAX_BYTES) return text
  throw new Error(`step ${name}: its result has ${size} bytes; a result has at most 64 KiB`)
}

/** @param origin what the keys belong to: the id of the job, or its request */
export function createSteps(
  deps: StepDeps,
  attempt: JobAttempt,
  origin: string = attempt.id,
): AttemptSteps {
  const results = createResults(deps, attempt)
  const { holder } = results
  const used = new Set<string>()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  ended.catch(() => {})
  const controller = new AbortController()
  let first: { readonly error: unknown } | undefined

  const end = (error: unknown) => {
    if (first) return
    first = { error }
    reject(error)
    controller.abort(error)
  }
  const throwIfEnded = () => {
    if (first) throw first.error
    attempt.signal.throwIfAborted()
  }
  const takeName = (name: string) => {
    if (inside.getStore() === holder) throw new Error(`step ${name}: another step contains it`)
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw new Error(`step ${name}: names have 1 to 200 characters, a letter or digit first`)
    }
    if (used.has(name)) throw new Error(`step ${name}: the attempt has two of this name`)
    used.add(name)
    if (used.size > STEPS_MAX) throw new Error(`a job has at most ${STEPS_MAX} steps`)
  }
  const run = async (name: string, work: () => Promise<string>): Promise<string> => {
    throwIfEnded()
    try {
      takeName(name)
      const text = (await results.findText(name)) ?? (await inside.run(holder, work))
      throwIfEnded()
      return text
    } catch (error) {
      end(error)
      throw error
    }
  }
  return {
    ended,
    signal: AbortSignal.any([attempt.signal, controller.signal]),
    throwIfEnded,
    end,
    effect: (name, code) =>
      run(name, async () => {
        if (await results.find(name)) await results.requireHeld()
        else await results.store(name, null)
        throwIfEnded()
        const text = requireFits(name, await code(stepKey(origin, name)))
        await results.store(name, text)
        return text
      }),
    read: (name, code) =>
      run(name, async () => {
        const text = requireFits(name, await code())
        await results.store(name, text)
        return text
      }),
    write: (name, code, options) =>
      run(name, () => {
        const change = async (tx: Tx) => {
          const text = requireFits(name, await code(tx))
          await results.storeIn(tx, name, text)
          throwIfEnded()
          return text
        }
        return deps.db.write(change, { ...options, serializable: true })
      }),
    readResponse: () => results.findText(store.RESPONSE_ROW),
    storeResponse: (text) => results.store(store.RESPONSE_ROW, text),
  }
}
