/** The words of own code for its steps (§15.6): `step`, and `write` and `read` with a name. */
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { JobAttempt } from '../../platform/jobs/job.ts'
import {
  type AttemptSteps,
  createSteps,
  type StepDeps,
  type WritingSteps,
} from '../../platform/jobs/steps.ts'
import type { Tx, WriteOptions } from '../../platform/storage/database.ts'
import { type AwaitedWords, createAwaitedWords } from './awaited-words.ts'
import type { Catalog } from './catalog-entry.ts'
import type { OwnPrincipal } from './own-principal.ts'
import { fetchUntil, type OwnLog, setWordsOf } from './own-words.ts'
import type { HandlerTurns } from './read-turns.ts'
import type { StepEffect } from './service-access.ts'
import { decodeResult, type StepViews, textOfResult } from './step-results.ts'

export interface OwnStepDeps extends StepDeps {
  /** `fetch` to allowed addresses. */
  readonly fetch: typeof fetch
}

type Code<A extends unknown[]> = (...given: A) => unknown

/** The words of each step of an attempt; a step of no customer has no principal. */
interface StepWords {
  readonly now: number
  readonly log: OwnLog
  readonly principal?: OwnPrincipal
}

export interface OwnWritingSteps {
  step(name: string, code: Code<[StepEffect]>): Promise<unknown>
  write(name: string, code: Code<[Tx]>, options?: WriteOptions): Promise<unknown>
}

export interface OwnSteps extends OwnWritingSteps {
  readonly steps: AttemptSteps
  /** The calls that the handler has to await. */
  readonly calls: AwaitedWords
  /** `fetch` to allowed addresses, until the attempt ends. */
  readonly fetch: typeof fetch
  read(name: string, code: Code<[]>): Promise<unknown>
  /** Returns the turns of the reads in a customer and mode, which end with the handler. */
  openReads(scope: Scope): HandlerTurns
  /** Ends the reads that wait for a turn. */
  endReads(reason?: unknown): void
  /** Returns the steps for a customer and mode of a recurring job. */
  within(scope: Scope, words: StepWords): OwnWritingSteps
}

interface StepsOptions {
  readonly views: StepViews
  readonly words: StepWords
  readonly origin?: string
}

export function createOwnSteps(
  catalog: Catalog,
  { fetch: guardedFetch, ...deps }: OwnStepDeps,
  attempt: JobAttempt,
  { views, words, origin }: StepsOptions,
): OwnSteps {
  const steps = createSteps(deps, attempt, origin)
  const { signal } = steps
  const fetchUntilEnd = fetchUntil(guardedFetch, () => signal)
  const decode = async (text: Promise<string>) => decodeResult(await text, catalog, views)
  const calls = createAwaitedWords()
  const openTurns: HandlerTurns[] = []
  const { track } = calls
  const stepsWith = ({ effect, write }: WritingSteps, own: StepWords): OwnWritingSteps => ({
    step: track('step', (name: string, code: Code<[StepEffect]>) =>
      decode(
        effect(name, (key) =>
          textOfResult(name, views, () =>
            code({ ...(own as StepEffect), key, signal, fetch: fetchUntilEnd }),
          ),
        ),
      ),
    ),
    write: track('write', (name: string, code: Code<[Tx]>, options?: WriteOptions) =>
      decode(
        write(
          name,
          (tx) => {
            setWordsOf(tx, { log: own.log, signal })
            return textOfResult(name, views, () => tx.attempt(async () => code(tx)))
          },
          options,
        ),
      ),
    ),
  })
  return {
    ...stepsWith(steps, words),
    steps,
    calls,
    fetch: fetchUntilEnd,
    read: track('read', (name: string, code: Code<[]>) =>
      decode(steps.read(name, () => textOfResult(name, views, () => code()))),
    ),
    openReads(scope) {
      const turns = catalog.readTurns.open(scope)
      openTurns.push(turns)
      return turns
    },
    endReads(reason) {
      for (const turns of openTurns) turns.end(reason)
    },
    within: (scope, own) => stepsWith(steps.within(scope), own),
  }
}

/**
 * Runs a handler until it ends, or a step ends its attempt, even if the handler catches that. Code
 * of a handler that has thrown may still run, but changes nothing any more. A step that the handler
 * does not await ends the attempt. Reads that wait for a turn end with the handler.
 */
export async function withSteps<T>(
  { steps, calls, endReads }: OwnSteps,
  handle: () => T | Promise<T>,
): Promise<T> {
  try {
    const result = await Promise.race([(async () => handle())(), steps.ended])
    steps.throwIfEnded()
    await Promise.race([calls.settle(), steps.ended])
    return result
  } catch (error) {
    // A `Failure` below 500 is the response to a request.
    if (!(error instanceof Failure && error.status < 500)) steps.end(error)
    throw error
  } finally {
    endReads(steps.signal.reason)
  }
}
