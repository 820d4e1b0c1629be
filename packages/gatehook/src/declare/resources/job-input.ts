/** The input of a job: values of own code, JSON text in the table, values for the handler. */

import { isInstantMs } from '../../kernel/time.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { EnqueueOwnJob } from './catalog-entry.ts'
import type { JobDefinition } from './job.ts'
import { memberReader } from './own-values.ts'
import type { AnyRow } from './resource.ts'
import { createValidators, defaultsOf, toWire } from './validate.ts'

interface JobInputCodec {
  /** Returns JSON text. Throws for values that violate the declaration: a bug of the code. */
  encode(values: AnyRow): string
  /** Returns the values, with the defaults of fields that are new since `encode`. */
  decode(text: string): AnyRow
}

export function createJobInput(name: string, specs: FieldSpecs): JobInputCodec {
  const validators = createValidators(specs)
  const defaults = defaultsOf(specs)
  const validate = memberReader(specs)
  return {
    encode: (values) =>
      JSON.stringify(toWire(specs, validate(`tx.enqueue(${name})`, values ?? {}))),
    decode(text) {
      const stored = Object.entries(JSON.parse(text) as AnyRow)
      const body = Object.fromEntries(stored.filter(([field]) => Object.hasOwn(specs, field)))
      return { ...defaults, ...validators.create(body) }
    },
  }
}

/** Returns the function that validates and enqueues the jobs of a service. */
export function createOwnEnqueue(
  { jobs }: { readonly jobs: readonly JobDefinition[] },
  enqueue: EnqueueJob | undefined,
): EnqueueOwnJob {
  const codecs = new Map(
    jobs
      .filter(({ kind }) => kind === 'job')
      .map(({ name, input }) => [name, createJobInput(name, input)]),
  )
  return async (tx, scope, { name, subject, input, runAt }) => {
    const codec = codecs.get(name)
    if (!codec) throw new Error(`the service has no job ${name}: add .job(${name}, handle)`)
    if (!enqueue) throw new Error('bug: this catalog stores no jobs')
    const atMs = runAt === undefined ? undefined : Number(runAt)
    if (atMs !== undefined && !(isInstantMs(atMs) && atMs >= 0)) {
      throw new Error(`tx.enqueue(${name}): runAt is an instant up to the year 9999`)
    }
    const job = { kind: 'job', name, scope, subject } as const
    const text = codec.encode(input)
    budgetOf(tx).charge({ rows: 1, bytes: Buffer.byteLength(text) })
    return enqueue(tx, { ...job, input: text, runAt: atMs })
  }
}
