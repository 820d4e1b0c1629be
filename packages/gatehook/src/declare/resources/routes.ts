/** The endpoints of a resource (§6.2): list, read, create, update, delete, actions. */

import { actorOf } from '../../history/audit/store.ts'
import { isAdministrator } from '../../identity/access/scopes.ts'
import { Failure } from '../../kernel/failure.ts'
import { parseRowId, type RowId } from '../../kernel/row-id.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  type Answer,
  type Call,
  type Endpoint,
  noContent,
  type Operation,
} from '../../protocol/http/call.ts'
import { entityTag, requireMatch } from '../../protocol/http/conditional.ts'
import { JSON_TYPE, PROBLEM_TYPE } from '../../protocol/http/content-negotiation.ts'
import { joinVary } from '../../protocol/http/header.ts'
import { rejectUnknownParameters } from '../../protocol/http/query-members.ts'
import { DRY_RUN_PARAMETER } from '../../protocol/idempotency/dry-run.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import { EXPAND } from '../../protocol/lists/expanded-page.ts'
import { EXPORT_TYPES, type Exporter, exportTypeOf } from '../../protocol/lists/export.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { LimitItems } from '../../protocol/quota/steps.ts'
import { patchThroughChain } from '../versions/change.ts'
import { type EndpointAction, endpointActions } from './action.ts'
import { reachesResource } from './agent-reach.ts'
import { batchOperation } from './batch.ts'
import { declaredInput } from './body-versions.ts'
import {
  inCallersTerms,
  isChanged,
  readNewRow,
  requireRights,
  responseText,
  validateConverted,
  withHiddenFields,
} from './caller-terms.ts'
import type { ApiEntry, Catalog, CatalogEntry } from './catalog.ts'
import { expandRow, readExpansion } from './expansion.ts'
import { limitsOfRows, visibleCollection } from './field-rights.ts'
import { innerReferencesOf } from './inner-references.ts'
import { relatedCollection, requestCaller } from './related-reach.ts'
import { hasRelations } from './relations.ts'
import { narrowRows } from './replayed-rows.ts'
import { type AnyRow, type ResourceDefinition, STATE_FIELD } from './resource.ts'
import { createFieldsReader } from './route-input.ts'
import type { RowTarget, WrittenRow } from './rows.ts'
import { PUBLIC, readScopeOf } from './scopes.ts'
import type { VersionShape } from './shape.ts'
import { deletedFilter, listsDeletedRows } from './soft-deletion.ts'
import { deletedCollection } from './table.ts'
import { createValidators, FIXED, validationFailure } from './validate.ts'

interface ResourceDeps {
  readonly db: Database
  readonly list: Lister
  readonly exportRows: Exporter
  readonly perform: Perform
  readonly limitItems: LimitItems
}

interface EndpointDeps extends ResourceDeps {
  /** Every resource with an API, for the rows to which rows refer. */
  readonly entries: ReadonlyMap<string, ApiEntry>
}

export function resourceEndpoints(catalog: Catalog, deps: ResourceDeps): Endpoint[] {
  const { resources } = catalog.service
  return [...catalog.apiEntries.values()].flatMap((entry) => {
    const serializable = isSerializable(entry.definition, resources)
    const limits = limitsOfRows(catalog.limits, entry.definition.name)
    const options = { serializable, narrowReplay: narrowRows(entry), limits }
    const perform: Perform = (call, change, own) =>
      deps.perform(call, change, { ...options, scope: call.principal?.scope, ...own })
    const endpoints = endpointsOf(entry, { ...deps, perform, entries: catalog.apiEntries })
    return endpoints.map((endpoint) => withOptions(entry.definition, endpoint))
  })
}

/** Adds what the declaration says of all operations: the largest body, and no reach of agents. */
function withOptions(resource: ResourceDefinition, endpoint: Endpoint): Endpoint {
  const { maxBodyBytes } = resource
  const options = { maxBodyBytes, ...(!reachesResource(resource) && { mcp: false }) }
  const operations = Object.entries(endpoint.methods)
  const methods = operations.map(([method, operation]) => [method, { ...operation, ...options }])
  return { ...endpoint, methods: Object.fromEntries(methods) }
}

/**
 * Returns whether a change of the resource, or a deletion that cascades from it, runs rules or
 * stores references inside values, which no constraint of the database guards.
 */
function isSerializable(
  { name, rules, fields }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
  visited: ReadonlySet<string> = new Set(),
): boolean {
  if (rules.length > 0 || innerReferencesOf(fields).length > 0) return true
  if (visited.has(name)) return false
  const seen = new Set([...visited, name])
  const dependents = resources.filter(({ fields }) =>
    Object.values(fields).some(
      ({ target, onDelete = 'restrict' }) => target === name && onDelete !== 'restrict',
    ),
  )
  return dependents.some((dependent) => isSerializable(dependent, resources, seen))
}

function endpointsOf(entry: ApiEntry, deps: EndpointDeps): Endpoint[] {
  const { name, access } = entry.definition
  const base = `/api/${name}`
  return [
    {
      kind: 'api',
      path: base,
      methods: {
        GET: listOperation(entry, deps),
        ...(access.create && { POST: change(createOperation(entry, deps, access.create)) }),
      },
    },
    ...addedEndpoints(entry, deps),
    {
      kind: 'api',
      path: `${base}/:id`,
      methods: {
        GET: withParameters(readOperation(entry, deps), hasRelations(entry.definition) && EXPAND),
        ...(access.update && { PATCH: change(updateOperation(entry, deps, access.update)) }),
        ...(access.delete && { DELETE: change(deleteOperation(entry, deps, access.delete)) }),
      },
    },
    ...endpointActions(entry.definition).map(
      (action): Endpoint => ({
        kind: 'api',
        path: `${base}/:id/${action.name}`,
        methods: { POST: change(actionOperation(entry, deps, action)) },
      }),
    ),
  ]
}

/** Returns an operation that has one parameter at most, and rejects others (§7.7). */
function withParameters(operation: Operation, parameter: string | false): Operation {
  return {
    ...operation,
    handle(call) {
      rejectUnknownParameters(call, parameter ? [parameter] : [])
      return operation.handle(call)
    },
  }
}

const change = (operation: Operation): Operation => withParameters(operation, DRY_RUN_PARAMETER)

/** Returns the endpoints of the operations that the declaration adds. */
function addedEndpoints(entry: ApiEntry, deps: ResourceDeps): Endpoint[] {
  const { name, access, batch, softDeletion } = entry.definition
  const endpoints: Endpoint[] = []
  if (batch && access.create) {
    const methods = { POST: change(batchOperation(entry, deps, access.create)) }
    endpoints.push({ kind: 'api', path: `/api/${name}/batch`, methods })
  }
  if (softDeletion?.scope !== undefined) {
    const methods = { POST: change(restoreOperation(entry, deps, softDeletion.scope)) }
    endpoints.push({ kind: 'api', path: `/api/${name}/:id/restore`, methods })
  }
  return endpoints
}

/** Returns the shape of the caller's version, with the fields that the caller reads and writes. */
const shapeFor = (entry: CatalogEntry, { version, principal }: Call): VersionShape =>
  entry.shapes.get(version!)!.as(principal)

/** Parses the id of the path. Throws `not_found` for the id of no row. */
function rowId({ definition: { name, fields } }: CatalogEntry, { params }: Call): RowId {
  const { idPrefix } = fields.id!
  const id = parseRowId(idPrefix, params.id ?? '')
  if (id !== undefined) return id
  const form = idPrefix && `The ids of ${name} are ${idPrefix}_ and 22 letters or digits.`
  throw new Failure('not_found', form)
}

/** Responds with the row. In the newest version the text of the event is the response. */
function rowAnswer(shape: VersionShape, written: WrittenRow, status = 200): Answer {
  const json = responseText(shape, written)
  return { status, json, headers: { etag: entityTag(json) } }
}

/** Returns the policy of reading: a scope, or none if the rows are public (§6.10). */
const readPolicy = ({ definition }: ApiEntry): Pick<Operation, 'scope' | 'authenticated'> =>
  definition.access.read === PUBLIC
    ? { authenticated: 'optional' }
    : { scope: readScopeOf(definition) }

/** Returns the row of the path, in the caller's reach, with the precondition `If-Match` (§11.2). */
function targetOf(entry: CatalogEntry, call: Call): RowTarget {
  const shape = shapeFor(entry, call)
  const guard = (row: AnyRow) => requireMatch(call, () => shape.encode(row))
  return {
    reach: entry.reach(call.principal, 'change'),
    id: rowId(entry, call),
    guard,
    hidden: shape.hiddenColumns,
    actor: actorOf(call),
  }
}

/** The media types of a list that is exported. */
const LIST_TYPES = [JSON_TYPE, PROBLEM_TYPE, ...EXPORT_TYPES]

function listOperation(entry: ApiEntry, { list, exportRows, entries }: EndpointDeps): Operation {
  const { isExported } = entry.definition
  return {
    ...readPolicy(entry),
    ...(isExported && { produces: LIST_TYPES }),
    handle(call) {
      const reach = entry.reach(call.principal, 'read')
      const { scope, owner } = reach
      const { view, hiddenColumns } = shapeFor(entry, call)
      const isDeleted = listsDeletedRows(entry.definition, call)
      const listed = isDeleted
        ? deletedCollection(entry.definition, entry.collection)
        : entry.collection
      const caller = requestCaller(entries, call, reach)
      const visible = visibleCollection(listed, hiddenColumns)
      const collection = relatedCollection(visible, entry.definition.name, caller)
      const filters = isDeleted ? { filters: [deletedFilter] } : {}
      if (isExported) {
        call.out.vary = joinVary(call.out.vary, 'Accept')
        const type = exportTypeOf(call)
        const rows = { collection, view, rowScope: { scope, owner }, ...filters }
        if (type !== undefined) return exportRows(call, rows, type)
      }
      const expansion = readExpansion(entry, entries, call)
      const options = { scope, owner, cacheable: true, expansion, ...filters }
      return list(call, collection, view, options)
    },
  }
}

function readOperation(entry: ApiEntry, { db, entries }: EndpointDeps): Operation {
  return {
    ...readPolicy(entry),
    async handle(call) {
      const reach = entry.reach(call.principal, 'read')
      const expansion = readExpansion(entry, entries, call)
      // Only related rows make it large. It takes its turn before they are read.
      const large = expansion?.isWide ? await call.beginLarge() : undefined
      const cells = await entry.rows.store.find(db, reach, rowId(entry, call))
      if (!cells) throw new Failure('not_found')
      const { view } = shapeFor(entry, call)
      const json = expansion ? await expandRow(db, expansion, view, cells) : view.item(cells, {})
      await large?.count(json.length)
      return { status: 200, json }
    },
  }
}

function createOperation(entry: CatalogEntry, { perform }: ResourceDeps, scope: string): Operation {
  const { name } = entry.definition
  return {
    scope,
    body: 'required',
    handle(call) {
      const reach = entry.reach(call.principal, 'create')
      const shape = shapeFor(entry, call)
      const values = readNewRow(entry, shape, call.body)
      return perform(
        call,
        async (tx): Promise<Answer> => {
          const written = await inCallersTerms(shape, () => entry.rows.create(tx, reach, values))
          const answer = rowAnswer(shape, written, 201)
          const location = `/api/${shape.version}/${name}/${written.row.id}`
          return { ...answer, headers: { ...answer.headers, location } }
        },
        { group: `${call.principal!.scope} ${name}` },
      )
    },
  }
}

function updateOperation(entry: CatalogEntry, { perform }: ResourceDeps, scope: string): Operation {
  return {
    scope,
    body: 'required',
    handle(call) {
      const shape = shapeFor(entry, call)
      const isPermitted = isAdministrator(call.principal!)
      const target = { ...targetOf(entry, call), permitsUsername: () => isPermitted }
      const patch = shape.validators.patch(call.body)
      const convertPatch = (row: AnyRow, completePatch: AnyRow) => {
        const { changed } = patchThroughChain(shape.chain, row, completePatch)
        return withHiddenFields(shape, row, patch, validateConverted(entry, shape, changed))
      }
      return perform(call, async (tx) => {
        const edit = (row: AnyRow) => {
          const { chain, validators } = shape
          const completePatch = validators.merge(chain.down(row), patch)
          const changed = chain.isEmpty ? completePatch : convertPatch(row, completePatch)
          requireEditable(entry.definition, row, changed, target.hidden)
          requireRights(shape, changed, row, target.hidden)
          return changed
        }
        const written = await inCallersTerms(shape, () => entry.rows.update(tx, target, edit))
        return rowAnswer(shape, written)
      })
    },
  }
}

/**
 * Throws 422 `read_only` for fields that clients cannot change in the current state. A `hidden`
 * one cannot be sent at all: its present value would be the only one without an error.
 */
function requireEditable(
  { editable, fields }: ResourceDefinition,
  row: AnyRow,
  changed: AnyRow,
  hidden: ReadonlySet<string> | undefined,
): void {
  const state = row[STATE_FIELD] as string
  const inState = editable
    .filter(({ from }) => !from.includes(state))
    .flatMap((rule) => rule.fields)
    .map((name) => [name, `is fixed while ${STATE_FIELD} is ${state}`] as const)
  // The body of an older version can change such a field by another name.
  const once = Object.keys(changed)
    .filter((name) => fields[name]?.isWriteOnce)
    .map((name) => [name, FIXED] as const)
  const errors = [...inState, ...once]
    .filter(([name]) => isChanged(name, changed, row, hidden))
    .map(([name, message]) => ({ pointer: `/${name}`, code: 'read_only' as const, message }))
  if (errors.length > 0) throw validationFailure(errors)
}

function deleteOperation(entry: CatalogEntry, { perform }: ResourceDeps, scope: string): Operation {
  return {
    scope,
    handle(call) {
      const target = targetOf(entry, call)
      const shape = shapeFor(entry, call)
      return perform(call, async (tx) => {
        await inCallersTerms(shape, () => entry.rows.remove(tx, target))
        return noContent()
      })
    },
  }
}

/** Rejects the members of a body where none is declared. */
const noMembers = createValidators({})

function restoreOperation(
  entry: CatalogEntry,
  { perform }: ResourceDeps,
  scope: string,
): Operation {
  return {
    scope,
    body: 'optional',
    handle(call) {
      const shape = shapeFor(entry, call)
      const target = targetOf(entry, call)
      noMembers.create(call.body ?? {})
      return perform(call, async (tx) => {
        const written = await inCallersTerms(shape, () => entry.rows.restore(tx, target))
        return rowAnswer(shape, written)
      })
    },
  }
}

function actionOperation(
  entry: CatalogEntry,
  { perform }: ResourceDeps,
  action: EndpointAction,
): Operation {
  const versions = [...entry.shapes.keys()]
  const declared = declaredInput(action)
  const readers = new Map(
    versions.map((version) => [version, createFieldsReader(declared, versions, version).read]),
  )
  return {
    scope: action.scope,
    mcp: action.mcp,
    body: 'optional',
    handle(call) {
      const shape = shapeFor(entry, call)
      const target = targetOf(entry, call)
      const input = readers.get(shape.version)!(call.body ?? {})
      return perform(call, async (tx) => {
        const written = await inCallersTerms(shape, () => entry.rows.act(tx, target, action, input))
        return rowAnswer(shape, written)
      })
    },
  }
}
