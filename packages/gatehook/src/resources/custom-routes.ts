/** The endpoints of `.route(…)` (§6.8): the team's handlers in the engine's pipeline. */
import { actorOf } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import { type Answer, type Call, type Endpoint, json, noContent } from '../http/call.ts'
import { parameterFailure, versionParameters } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import type { Catalog } from './catalog.ts'
import type { FieldKind } from './fields.ts'
import type { AnyResource, AnyRow } from './resource.ts'
import { type RouteDefinition, type RouteResult, specsOfRoute } from './route.ts'
import type { FieldSpecs } from './schema.ts'
import { listEventTypes } from './service.ts'
import { createValidators } from './validate.ts'

interface CustomRouteDeps {
  readonly db: Database
  readonly perform: Perform
  readonly record: RecordEvent
}

export function customEndpoints(catalog: Catalog, deps: CustomRouteDeps): Endpoint[] {
  const endpointByPath = new Map<string, Endpoint>()
  for (const route of catalog.service.routes) {
    const path = `/api${route.path}`
    const operation = {
      scope: route.scope,
      ...(route.method !== 'GET' && { body: 'optional' as const }),
      handle: createHandler(catalog, deps, route),
    }
    const methods = { ...endpointByPath.get(path)?.methods, [route.method]: operation }
    endpointByPath.set(path, { kind: 'api', path, methods })
  }
  return [...endpointByPath.values()]
}

function createHandler(catalog: Catalog, deps: CustomRouteDeps, route: RouteDefinition) {
  const validateInput = createValidators(specsOfRoute(route.input)).create
  const readQuery = queryReader(specsOfRoute(route.query))
  return async (call: Call): Promise<Answer> => {
    const principal = call.principal!
    const context = {
      principal,
      version: call.version!,
      params: call.params,
      query: readQuery(call),
      input: validateInput(call.body ?? {}),
      read: serviceReader(catalog, principal, deps.db),
    }
    if (route.method === 'GET') {
      return toAnswer(await route.handle({ ...context, write: rejectWrite }))
    }
    // The whole handler is one transaction, and its response commits with it.
    return deps.perform(call, async (tx) => {
      const serviceTx = createServiceTx(catalog, call, deps.record, tx)
      const write = (change: (tx: typeof serviceTx) => Promise<unknown>) => change(serviceTx)
      return toAnswer(await route.handle({ ...context, read: serviceTx, write }))
    })
  }
}

const rejectWrite = (): never => {
  throw new Error('a GET route cannot write')
}

const toAnswer = ({ status, body }: RouteResult): Answer =>
  body === undefined ? { ...noContent(), status: status ?? 204 } : json(status ?? 200, body)

function serviceReader(catalog: Catalog, principal: Principal, sql: Reader) {
  return {
    sql,
    get(resource: AnyResource, id: number): Promise<AnyRow> {
      const { rows, reach } = catalog.entries.get(resource.definition.name)!
      return rows.get(sql, reach(principal, 'read'), id)
    },
  }
}

/** Creates the `ServiceTx` of a handler: rows, events and SQL in one transaction. */
function createServiceTx(catalog: Catalog, call: Call, record: RecordEvent, sql: Tx) {
  const principal = call.principal!
  const actor = actorOf(call)
  const entryOf = (resource: AnyResource) => catalog.entries.get(resource.definition.name)!
  const types = listEventTypes(catalog.service)
  return {
    ...serviceReader(catalog, principal, sql),
    sql,
    async create(resource: AnyResource, values: AnyRow): Promise<AnyRow> {
      const { rows, reach } = entryOf(resource)
      return (await rows.create(sql, reach(principal, 'create'), values)).row
    },
    async update(resource: AnyResource, id: number, patch: AnyRow): Promise<AnyRow> {
      const { rows, reach } = entryOf(resource)
      const target = { reach: reach(principal, 'change'), id, actor }
      return (await rows.update(sql, target, () => patch)).row
    },
    remove(resource: AnyResource, id: number): Promise<void> {
      const { rows, reach } = entryOf(resource)
      return rows.remove(sql, { reach: reach(principal, 'change'), id, actor })
    },
    async emit(type: string, object: AnyRow): Promise<void> {
      if (!types.includes(type)) throw new Error(`event type ${type} is not declared`)
      const event = { type, collection: undefined, objectId: undefined }
      await record(sql, principal.scope, { ...event, object: JSON.stringify(object) })
    },
  }
}

/** The syntax of §7.3: no `1e2`, no `0x10`, no leading zeros. */
const NUMBERS: Readonly<Partial<Record<FieldKind, RegExp>>> = {
  id: /^(0|[1-9]\d*)$/,
  ref: /^(0|[1-9]\d*)$/,
  int: /^-?(0|[1-9]\d*)$/,
  number: /^-?(0|[1-9]\d*)(\.\d+)?$/,
}

/** Converts a parameter to the kind of its field. Other text stays text, which fails validation. */
function queryValue(kind: FieldKind, text: string): unknown {
  if (NUMBERS[kind]?.test(text)) return Number(text)
  if (kind === 'bool' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** Returns a reader of a route's declared query parameters, which rejects all others. */
function queryReader(specs: FieldSpecs): (call: Call) => AnyRow {
  const validate = createValidators(specs).create
  return (call) => {
    const [repeated] = call.query.repeated()
    if (repeated !== undefined) throw parameterFailure('invalid_parameter', repeated, 'is repeated')
    const values: AnyRow = {}
    for (const [name, text] of call.query.entries) {
      if (name === 'api_key' || versionParameters.has(name)) continue
      if (!Object.hasOwn(specs, name)) {
        throw parameterFailure('unknown_parameter', name, 'is not a parameter here')
      }
      values[name] = queryValue(specs[name]!.kind, text)
    }
    try {
      return validate(values)
    } catch (error) {
      if (!(error instanceof Failure) || !error.errors?.[0]) throw error
      const [first] = error.errors
      throw parameterFailure('invalid_parameter', first.pointer?.slice(1) ?? '', first.message)
    }
  }
}
