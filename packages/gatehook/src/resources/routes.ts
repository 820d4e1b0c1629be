/** The endpoints that follow from a resource (§6.2). What happens to rows is `rows.ts`. */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, type Endpoint, noContent, type Operation } from '../http/call.ts'
import { entityTag, requireMatch } from '../http/conditional.ts'
import type { Perform } from '../idempotency/perform.ts'
import { Failure } from '../kernel/failure.ts'
import type { Lister } from '../lists/list.ts'
import type { Database } from '../storage/database.ts'
import { patchThroughChain } from '../versions/change.ts'
import type { Catalog, Entry } from './catalog.ts'
import type { Operation as RowOperation } from './ownership.ts'
import { type ActionDefinition, type AnyRow, type Definition, STATE_FIELD } from './resource.ts'
import type { Target, Written } from './rows.ts'
import { PUBLIC, readScopeOf } from './scopes.ts'
import type { Shape } from './shape.ts'
import { createValidators, fieldFailure, validationFailure } from './validate.ts'

export interface ResourceDeps {
  readonly db: Database
  readonly list: Lister
  readonly perform: Perform
}

export function resourceEndpoints(catalog: Catalog, deps: ResourceDeps): Endpoint[] {
  return [...catalog.entries.values()].flatMap((entry) => endpointsOf(entry, deps))
}

function endpointsOf(entry: Entry, deps: ResourceDeps): Endpoint[] {
  const { name, access, actions } = entry.definition
  const base = `/api/${name}`
  return [
    {
      kind: 'api',
      path: base,
      methods: {
        GET: listOperation(entry, deps),
        ...(access.create && { POST: createOperation(entry, deps, access.create) }),
      },
    },
    {
      kind: 'api',
      path: `${base}/:id`,
      methods: {
        GET: readOperation(entry, deps),
        ...(access.update && { PATCH: updateOperation(entry, deps, access.update) }),
        ...(access.delete && { DELETE: deleteOperation(entry, deps, access.delete) }),
      },
    },
    ...actions.map(
      (action): Endpoint => ({
        kind: 'api',
        path: `${base}/:id/${action.name}`,
        methods: { POST: actionOperation(entry, deps, action) },
      }),
    ),
  ]
}

const shapeFor = (entry: Entry, call: Call): Shape => entry.shapes.get(call.version!)!

/** Ids are `1`, `2`, …; anything else names no row. */
function rowId(call: Call): number {
  const text = call.params.id ?? ''
  const id = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new Failure('not_found')
  return id
}

/** The row as it is now. In the newest version the event's text is the answer's text too. */
function shown(shape: Shape, written: Written, status = 200): Answer {
  const json = shape.chain.isEmpty ? written.text : shape.encode(written.row)
  return { status, json, headers: { etag: entityTag(json) } }
}

/** Throws 403 where the resource is closed to the caller (§6.7). */
const reachOf = (entry: Entry, call: Call, operation: RowOperation) =>
  entry.reach(call.principal, operation)

/** What reading needs: a scope, or nothing where the rows are public (§6.10). */
const readPolicy = ({ definition }: Entry): Pick<Operation, 'scope' | 'authenticated'> =>
  definition.access.read === PUBLIC
    ? { authenticated: 'optional' }
    : { scope: readScopeOf(definition) }

/** The row of the path, in the caller's reach, in the state `If-Match` asks for (§11.2). */
function targetOf(entry: Entry, call: Call): Target {
  const shape = shapeFor(entry, call)
  const guard = (row: AnyRow) => requireMatch(call, () => shape.encode(row))
  return { reach: reachOf(entry, call, 'change'), id: rowId(call), guard, actor: actorOf(call) }
}

function listOperation(entry: Entry, { list }: ResourceDeps): Operation {
  return {
    ...readPolicy(entry),
    handle(call) {
      const { scope, owner } = reachOf(entry, call, 'read')
      const { view } = shapeFor(entry, call)
      return list(call, entry.collection, view, { scope, owner, timeless: true })
    },
  }
}

function readOperation(entry: Entry, { db }: ResourceDeps): Operation {
  return {
    ...readPolicy(entry),
    async handle(call) {
      const reach = reachOf(entry, call, 'read')
      const cells = await entry.rows.store.find(db, reach, rowId(call))
      if (!cells) throw new Failure('not_found')
      return { status: 200, json: shapeFor(entry, call).view.item(cells, {}) }
    },
  }
}

function createOperation(entry: Entry, { perform }: ResourceDeps, scope: string): Operation {
  return {
    scope,
    body: 'required',
    handle(call) {
      const reach = reachOf(entry, call, 'create')
      const shape = shapeFor(entry, call)
      const sent = shape.validators.create(call.body)
      const values = shape.chain.isEmpty ? sent : lift(entry, shape, shape.chain.up(sent))
      return perform(call, async (tx): Promise<Answer> => {
        const written = await inShape(shape, () => entry.rows.create(tx, reach, values))
        const answer = shown(shape, written, 201)
        const location = `/api/${shape.version}/${entry.definition.name}/${written.row.id}`
        return { ...answer, headers: { ...answer.headers, location } }
      })
    },
  }
}

function updateOperation(entry: Entry, { perform }: ResourceDeps, scope: string): Operation {
  return {
    scope,
    body: 'required',
    handle(call) {
      const shape = shapeFor(entry, call)
      const target = targetOf(entry, call)
      const patch = shape.validators.patch(call.body)
      return perform(call, async (tx) => {
        const edit = (row: AnyRow) => {
          const changed = shape.chain.isEmpty
            ? patch
            : lift(entry, shape, patchThroughChain(shape.chain, row, patch).changed)
          refuseFixed(entry.definition, row, changed)
          return changed
        }
        const written = await inShape(shape, () => entry.rows.update(tx, target, edit))
        return shown(shape, written)
      })
    },
  }
}

/** 422 `read_only` for fields that a row in its present state does not let clients change. */
function refuseFixed({ editable }: Definition, row: AnyRow, changed: AnyRow): void {
  const state = row[STATE_FIELD] as string
  const errors = editable
    .filter(({ from }) => !from.includes(state))
    .flatMap(({ fields }) => fields)
    .filter((name) => name in changed && changed[name] !== row[name])
    .map((name) => {
      const message = `is fixed while ${STATE_FIELD} is ${state}`
      return { pointer: `/${name}`, code: 'read_only', message }
    })
  if (errors.length > 0) throw validationFailure(errors)
}

function deleteOperation(entry: Entry, { perform }: ResourceDeps, scope: string): Operation {
  return {
    scope,
    handle(call) {
      const target = targetOf(entry, call)
      return perform(call, async (tx) => {
        await entry.rows.remove(tx, target)
        return noContent()
      })
    },
  }
}

function actionOperation(
  entry: Entry,
  { perform }: ResourceDeps,
  action: ActionDefinition,
): Operation {
  const validators = createValidators(action.input)
  return {
    scope: action.scope,
    body: 'optional',
    handle(call) {
      const shape = shapeFor(entry, call)
      const target = targetOf(entry, call)
      const input = validators.create(call.body ?? {})
      return perform(call, async (tx) => {
        const written = await inShape(shape, () => entry.rows.act(tx, target, action, input))
        return shown(shape, written)
      })
    },
  }
}

/**
 * What came up from an older version has to fit the newest; what does not is named in the older's
 * words.
 */
function lift(entry: Entry, shape: Shape, made: AnyRow): AnyRow {
  // What the old version does not let callers send is undefined on the way up: it was not said.
  const lifted = Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined))
  const errors = entry.rows.newest.validators.lifted(lifted)
  if (errors.length > 0) throw inOldWords(shape, validationFailure(errors))
  return lifted
}

/** Failures of the newest shape, their pointers brought down to the caller's version (§8.8). */
async function inShape<T>(shape: Shape, change: () => Promise<T>): Promise<T> {
  if (shape.chain.isEmpty) return change()
  try {
    return await change()
  } catch (error) {
    throw error instanceof Failure && error.errors ? inOldWords(shape, error) : error
  }
}

function inOldWords(shape: Shape, failure: Failure): Failure {
  const errors = (failure.errors ?? []).map((error) =>
    error.pointer
      ? { ...error, pointer: `/${shape.chain.oldFieldOf(error.pointer.slice(1))}` }
      : error,
  )
  // The sentences of these two name the field; that of a wrong state names states.
  const named = failure.code === 'validation_failed' || failure.code === 'conflict'
  if (named) return fieldFailure(failure.code, errors)
  return new Failure(failure.code, failure.message, { errors })
}
