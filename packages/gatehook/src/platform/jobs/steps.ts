/**
 * The steps of an attempt at a job (§15.6). The result of a step is stored before the next one
 * runs, and later attempts receive it. No transaction is open while the code of a step runs.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database, Tx, WriteOptions } from '../storage/database.ts'
import type { JobAttempt } from './job.ts'
import * as store from './steps-store.ts'
import { STEP_PURPOSE, stepRow } from './tables.ts'

/** The largest result as JSON. */
const RESULT_MAX_BYTES = 65_536
/** The steps of an attempt; of one at a recurring job: besides those of customers, and of each. */
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

export interface WritingSteps {
  /** Returns the text of a step that may use the network. */
  effect(name: string, run: (key: string) => Promise<string>): Promise<string>
  /** Returns the text of a step that is one transaction; its result commits with it. */
  write(name: string, run: (tx: Tx) => Promise<string>, options?: WriteOptions): Promise<string>
}

/** A step, and the customer and mode that its result belongs to. */
interface StepOfAttempt {
  /** As the code calls it. */
  readonly given: string
  /** Unique within the job. */
  readonly name: string
  readonly scope: Scope | null
}

/** The steps of one attempt. A step that throws ends the attempt, even if its code catches it. */
export interface AttemptSteps extends WritingSteps {
  /** Rejects with the error that ended the attempt. */
  readonly ended: Promise<never>
  /** Aborts when the attempt ends with an error, that of a parallel step included. */
  readonly signal: AbortSignal
  /** Throws the error that ended the attempt, if there is one. */
  throwIfEnded(): void
  /** Ends the attempt with an error, unless one has ended it. */
  end(error: unknown): void
  /** Returns the text of a step that reads. */
  read(name: string, run: () => Promise<string>): Promise<string>
  /** Returns the steps for a customer and mode of a recurring job: their names are their own. */
  within(scope: Scope): WritingSteps
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
  const { id: job, signal } = attempt
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
  const storeIn = async (
    tx: Tx,
    { name, scope }: StepOfAttempt,
    text: string | null,
  ): Promise<void> => {
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
    store: (step: StepOfAttempt, text: string | null) => db.write((tx) => storeIn(tx, step, text)),
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

/** Returns the function that takes the name of a step, or throws. */
function createTake(holder: string) {
  const used = new Set<string>()
  const counts = new Map<Scope | null, number>()
  return ({ given, name, scope }: StepOfAttempt): void => {
    if (inside.getStore() === holder) throw new Error(`step ${given}: another step contains it`)
    if (typeof given !== 'string' || !NAME.test(given)) {
      throw new Error(`step ${given}: names have 1 to 200 characters, a letter or digit first`)
    }
    if (used.has(name)) throw new Error(`step ${given}: the attempt has two of this name`)
    used.add(name)
    const count = (counts.get(scope) ?? 0) + 1
    counts.set(scope, count)
    if (count > STEPS_MAX) throw new Error(`an attempt has at most ${STEPS_MAX} steps`)
  }
}

/** @param origin what the keys belong to: the id of the job, or its request */
export function createSteps(
  deps: StepDeps,
  attempt: JobAttempt,
  origin: string = attempt.id,
): AttemptSteps {
  const results = createResults(deps, attempt)
  const { holder } = results
  const take = createTake(holder)
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
  const run = async (step: StepOfAttempt, work: () => Promise<string>): Promise<string> => {
    throwIfEnded()
    try {
      take(step)
      const text = (await results.findText(step.name)) ?? (await inside.run(holder, work))
      throwIfEnded()
      return text
    } catch (error) {
      end(error)
      throw error
    }
  }
  const writing = (stepOf: (name: string) => StepOfAttempt): WritingSteps => ({
    effect: (given, code) => {
      const step = stepOf(given)
      return run(step, async () => {
        if (await results.find(step.name)) await results.requireHeld()
        else await results.store(step, null)
        throwIfEnded()
        const text = requireFits(given, await code(stepKey(origin, step.name)))
        await results.store(step, text)
        return text
      })
    },
    write: (given, code, options) => {
      const step = stepOf(given)
      const change = async (tx: Tx) => {
        const text = requireFits(given, await code(tx))
        await results.storeIn(tx, step, text)
        throwIfEnded()
        return text
      }
      return run(step, () => deps.db.write(change, { ...options, serializable: true }))
    },
  })
  const stepOf = (name: string): StepOfAttempt => ({ given: name, name, scope: attempt.scope })
  return {
    ...writing(stepOf),
    ended,
    signal: AbortSignal.any([attempt.signal, controller.signal]),
    throwIfEnded,
    end,
    within: (scope) => writing((given) => ({ given, name: `${scope} ${given}`, scope })),
    read: (name, code) =>
      run(stepOf(name), async () => {
        const text = requireFits(name, await code())
        await results.store(stepOf(name), text)
        return text
      }),
    readResponse: () => results.findText(store.RESPONSE_ROW),
    storeResponse: (text) => results.store(stepOf(store.RESPONSE_ROW), text),
  }
}
