/**
 * `POST …/batch`: creates up to 100 rows in one transaction. `atomic`: the first failure rejects
 * all; otherwise each item has its own status. Pointers refer to the body: `/items/3/name`. For the
 * request limit, each item counts as a request (decision 0006).
 */

import { Failure, type FieldError } from '../../kernel/failure.ts'
import type { Pace } from '../../kernel/pace.ts'
import { CHANGE_BOUNDS, createChangeTooLarge } from '../../platform/storage/change-budget.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { b } from '../../protocol/fields/members.ts'
import { ERRORS_MAX } from '../../protocol/fields/object-reader.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import type { Answer, Call, Operation } from '../../protocol/http/call.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { LimitItems } from '../../protocol/quota/steps.ts'
import { inCallersTerms, readNewRow, responseText } from './caller-terms.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { RowReach } from './ownership.ts'
import type { AnyRow } from './resource.ts'
import { wordSources } from './search-index.ts'
import type { VersionShape } from './shape.ts'
import { replaceErrors, validationFailure } from './validate.ts'

export const BATCH_ITEMS_MAX = 100

const members = {
  items: b.list(b.json().nullable(), { min: 1, max: BATCH_ITEMS_MAX }).spec,
  atomic: b.bool().optional().spec,
}
const readMembers = createObjectReader({ members })

interface BatchEnvelope {
  readonly items: readonly unknown[]
  readonly atomic?: boolean
}

/** The values of an item, or the failure of its validation. */
type NewItem = { readonly values: AnyRow } | { readonly failure: Failure }

interface Batch {
  readonly items: readonly NewItem[]
  readonly isAtomic: boolean
}

export function batchOperation(
  entry: CatalogEntry,
  { perform, limitItems }: { readonly perform: Perform; readonly limitItems: LimitItems },
  scope: string,
): Operation {
  return {
    scope,
    body: 'required',
    async handle(call) {
      const shape = entry.shapes.get(call.version!)!.as(call.principal)
      const reach = entry.reach(call.principal, 'create')
      const envelope = readEnvelope(call.body)
      await limitItems(call, envelope.items.length)
      const pace = call.startPace()
      const { items, isAtomic } = await readItems(entry, shape, envelope, pace)
      await requireFewWords(entry, items, pace)
      return perform(call, async (tx) => {
        const texts: string[] = []
        const createdRows: AnyRow[] = []
        const create = createItem(entry, shape, reach, createdRows)
        for (const [index, item] of items.entries()) {
          const written = await (isAtomic
            ? create(tx, index, item)
            : createOrReport(tx, call, () => create(tx, index, item)))
          texts.push(`{"index":${index},${written}}`)
        }
        const last = createdRows.at(-1)
        if (last) await entry.rows.addCreated(tx, reach, last, createdRows.length)
        return { status: 200, json: `{"items":[${texts.join(',')}]}` } satisfies Answer
      })
    },
  }
}

/** Throws `change_too_large` before the transaction; rows that rules add count in it. */
async function requireFewWords(
  { rows }: CatalogEntry,
  items: readonly NewItem[],
  pace: Pace,
): Promise<void> {
  const { definition, newest } = rows
  const { fields, wordsOf } = wordSources(definition)
  if (fields.length === 0) return
  let words = 0
  for (const [index, item] of items.entries()) {
    if ('failure' in item) continue
    await pace()
    const row: AnyRow = { ...newest.defaults, ...item.values }
    words += wordsOf((field) => row[field]).length
    if (words > CHANGE_BOUNDS.words) throw atItem(createChangeTooLarge('words'), index)
  }
}

/** Validates the body except its items. */
function readEnvelope(body: unknown): BatchEnvelope {
  const { values, errors } = readMembers(body)
  if (errors.length > 0) throw validationFailure(errors)
  return values as unknown as BatchEnvelope
}

/** Validates the items. With `atomic` one invalid item rejects all, with the mistakes of each. */
async function readItems(
  entry: CatalogEntry,
  shape: VersionShape,
  { items: bodies, atomic: isAtomic = true }: BatchEnvelope,
  pace: Pace,
): Promise<Batch> {
  const items: NewItem[] = []
  const mistakes: FieldError[] = []
  for (const [index, item] of bodies.entries()) {
    // A batch of bad items costs no more than its response shows.
    if (isAtomic && mistakes.length >= ERRORS_MAX) break
    await pace()
    try {
      items.push({ values: readNewRow(entry, shape, item) })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const failure = atItem(error, index)
      items.push({ failure })
      mistakes.push(...(failure.errors ?? []))
    }
  }
  if (isAtomic && mistakes.length > 0) throw validationFailure(mistakes.slice(0, ERRORS_MAX))
  return { items, isAtomic }
}

/**
 * Returns a function that creates the row of an item, adds it to `createdRows`, and returns its
 * status and body as text.
 */
const createItem =
  (entry: CatalogEntry, shape: VersionShape, reach: RowReach, createdRows: AnyRow[]) =>
  async (tx: Tx, index: number, item: NewItem): Promise<string> => {
    if ('failure' in item) throw item.failure
    try {
      const change = () => entry.rows.createUncounted(tx, reach, item.values)
      const written = await inCallersTerms(shape, change)
      createdRows.push(written.row)
      return `"status":201,"body":${responseText(shape, written)}`
    } catch (error) {
      throw error instanceof Failure ? atItem(error, index) : error
    }
  }

/** Runs the creation in a savepoint; its failure is the result of the item. */
async function createOrReport(tx: Tx, call: Call, create: () => Promise<string>): Promise<string> {
  try {
    return await tx.attempt(create)
  } catch (error) {
    // A change beyond its bounds has no effect at all.
    const isOfItem = error instanceof Failure && error.status < 500
    if (!isOfItem || error.code === 'change_too_large') throw error
    return `"status":${error.status},"body":${JSON.stringify(call.errorOf(error))}`
  }
}

/**
 * Returns the failure with pointers into the body of the batch. That of a rule has a pointer to the
 * item, with its own sentence.
 */
function atItem(failure: Failure, index: number): Failure {
  const { code, message, status, errors = [] } = failure
  if (status >= 500) return failure
  const pointer = `/items/${index}`
  if (code === 'change_too_large') {
    const fitting = index === 0 ? 'Not even the first item fits.' : `Send at most ${index} items.`
    const sentence = `${message} ${fitting}`
    return new Failure(code, sentence, { errors: [{ pointer, code, message: sentence }] })
  }
  if (errors.length === 0) return replaceErrors(failure, [{ pointer, code, message }])
  return replaceErrors(
    failure,
    errors.map((error) => ({ ...error, pointer: pointer + (error.pointer ?? '') })),
  )
}
