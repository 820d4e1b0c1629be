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
import type { Catalog } from './catalog-entry.ts'
import type { StepEffect } from './service-access.ts'
import { decodeResult, type StepViews, textOfResult } from './step-results.ts'

export interface OwnStepDeps extends StepDeps {
  /** `fetch` to allowed addresses. */
  readonly fetch: typeof fetch
}

type Code<A extends unknown[]> = (...given: A) => unknown

interface OwnWritingSteps {
  step(name: string, code: Code<[StepEffect]>): Promise<unknown>
  write(name: string, code: Code<[Tx]>, options?: WriteOptions): Promise<unknown>
}

export interface OwnSteps extends OwnWritingSteps {
  readonly steps: AttemptSteps
  read(name: string, code: Code<[]>): Promise<unknown>
  /** Returns the steps for a customer and mode of a recurring job. */
  within(scope: Scope): OwnWritingSteps
}

interface StepsOptions {
  readonly views: StepViews
  readonly origin?: string
}

export function createOwnSteps(
  catalog: Catalog,
  { fetch: guardedFetch, ...deps }: OwnStepDeps,
  attempt: JobAttempt,
  { views, origin }: StepsOptions,
): OwnSteps {
  const steps = createSteps(deps, attempt, origin)
  const { signal } = steps
  const fetchUntilEnd: typeof fetch = (input, init) => {
    const signals = [signal, ...(init?.signal ? [init.signal] : [])]
    return guardedFetch(input, { ...init, signal: AbortSignal.any(signals) })
  }
  const decode = async (text: Promise<string>) => decodeResult(await text, catalog, views)
  const wordsOf = ({ effect, write }: WritingSteps): OwnWritingSteps => ({
    step: (name, code) =>
      decode(
        effect(name, (key) =>
          textOfResult(name, views, () => code({ key, signal, fetch: fetchUntilEnd })),
        ),
      ),
    write: (name, code, options) =>
      decode(
        write(
          name,
          (tx) => textOfResult(name, views, () => tx.attempt(async () => code(tx))),
          options,
        ),
      ),
  })
  return {
    ...wordsOf(steps),
    steps,
    read: (name, code) => decode(steps.read(name, () => textOfResult(name, views, () => code()))),
    within: (scope) => wordsOf(steps.within(scope)),
  }
}

/**
 * Runs a handler until it ends, or a step ends its attempt, even if the handler catches that. Code
 * of a handler that has thrown may still run, but changes nothing any more.
 */
export async function withSteps<T>({ steps }: OwnSteps, handle: () => T | Promise<T>): Promise<T> {
  try {
    const result = await Promise.race([(async () => handle())(), steps.ended])
    steps.throwIfEnded()
    return result
  } catch (error) {
    // A `Failure` below 500 is the response to a request.
    if (!(error instanceof Failure && error.status < 500)) steps.end(error)
    throw error
  }
}
