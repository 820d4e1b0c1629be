/** Endpoints of `.route(…)` (§6.8): the team's handler behind the same door as the engine's own. */

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
import type { RouteDefinition, RouteResult } from './route.ts'
import type { Specs } from './schema.ts'
import { eventTypes } from './service.ts'
import { createValidators, type Validate } from './validate.ts'

export interface CustomDeps {
  readonly db: Database
  readonly perform: Perform
  readonly record: RecordEvent
}

export function customEndpoints(catalog: Catalog, deps: CustomDeps): Endpoint[] {
  const byPath = new Map<string, Endpoint>()
  for (const route of catalog.service.routes) {
    const path = `/api${route.path}`
    const known = byPath.get(path)?.methods
    const operation = {
      scope: route.scope,
      ...(route.method !== 'GET' && { body: 'optional' as const }),
      handle: handler(catalog, deps, route),
    }
    byPath.set(path, { kind: 'api', path, methods: { ...known, [route.method]: operation } })
  }
  return [...byPath.values()]
}

const specsOf = (fields: RouteDefinition['input']): Specs =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([name, field]) => [name, field.spec]))

function handler(catalog: Catalog, deps: CustomDeps, route: RouteDefinition) {
  const input = createValidators(specsOf(route.input)).create
  const query = queryReader(specsOf(route.query))
  return async (call: Call): Promise<Answer> => {
    const principal = call.principal!
    const context = {
      principal,
      version: call.version!,
      params: call.params,
      query: query(call),
      input: input(call.body ?? {}),
      read: readerFor(catalog, principal, deps.db),
    }
    if (route.method === 'GET') {
      return answer(await route.handle({ ...context, write: refuseWrite }))
    }
    // The whole handler is one transaction where it writes; its answer commits with it.
    return deps.perform(call, async (tx) => {
      const door = txFor(catalog, call, deps.record, tx)
      const write = (change: (tx: typeof door) => Promise<unknown>) => change(door)
      return answer(await route.handle({ ...context, read: door, write }))
    })
  }
}

const refuseWrite = (): never => {
  throw new Error('a GET route writes nothing')
}

const answer = ({ status, body }: RouteResult): Answer =>
  body === undefined ? { ...noContent(), status: status ?? 204 } : json(status ?? 200, body)

function readerFor(catalog: Catalog, principal: Principal, sql: Reader) {
  return {
    sql,
    get(resource: AnyResource, id: number): Promise<AnyRow> {
      const { rows, reach } = catalog.entries.get(resource.definition.name)!
      return rows.get(sql, reach(principal, 'read'), id)
    },
  }
}

/** The door of the team's own code to rows and events, within one transaction. */
function txFor(catalog: Catalog, call: Call, record: RecordEvent, sql: Tx) {
  const principal = call.principal!
  const actor = actorOf(call)
  const entryOf = (resource: AnyResource) => catalog.entries.get(resource.definition.name)!
  const types = eventTypes(catalog.service)
  return {
    ...readerFor(catalog, principal, sql),
    sql,
    async create(resource: AnyResource, values: AnyRow): Promise<AnyRow> {
      const { rows, reach } = entryOf(resource)
      return (await rows.create(sql, reach(principal, 'create'), values)).row
    },
    async update(resource: AnyResource, id: number, patch: AnyRow): Promise<AnyRow> {
      const { rows, reach } = entryOf(resource)
      return (await rows.update(sql, { reach: reach(principal, 'change'), id, actor }, () => patch))
        .row
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

/** As §7.3 writes them: no `1e2`, no `0x10`, no leading zeros. */
const numbers: Readonly<Partial<Record<FieldKind, RegExp>>> = {
  id: /^(0|[1-9]\d*)$/,
  ref: /^(0|[1-9]\d*)$/,
  int: /^-?(0|[1-9]\d*)$/,
  number: /^-?(0|[1-9]\d*)(\.\d+)?$/,
}

/**
 * What a parameter's text says; text that says nothing of the kind stays text, and is refused as
 * such.
 */
function queryValue(kind: FieldKind, text: string): unknown {
  if (numbers[kind]?.test(text)) return Number(text)
  if (kind === 'bool' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** Query parameters of a route, by its declared fields; others are refused. */
function queryReader(specs: Specs): (call: Call) => AnyRow {
  const validate: Validate = createValidators(specs).create
  return (call) => {
    const [repeated] = call.query.repeated()
    if (repeated !== undefined) throw parameterFailure('invalid_parameter', repeated, 'is repeated')
    const sent: AnyRow = {}
    for (const [name, text] of call.query.entries) {
      if (name === 'api_key' || versionParameters.has(name)) continue
      if (!Object.hasOwn(specs, name)) {
        throw parameterFailure('unknown_parameter', name, 'is not a parameter here')
      }
      sent[name] = queryValue(specs[name]!.kind, text)
    }
    try {
      return validate(sent)
    } catch (error) {
      if (!(error instanceof Failure) || !error.errors?.[0]) throw error
      const [first] = error.errors
      throw parameterFailure('invalid_parameter', first.pointer?.slice(1) ?? '', first.message)
    }
  }
}
