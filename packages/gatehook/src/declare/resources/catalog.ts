/**
 * A service prepared to run: the rows, collection and version shapes of each resource. The app
 * creates it once at start. Routes, OpenAPI and seeds work from it.
 */
import type { RenderObject } from '../../history/events/event.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import {
  createStoredObjects,
  type DeclaredObjects,
  type VersionMembers,
} from '../../history/events/stored-objects.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { TableState } from '../../platform/storage/table-state.ts'
import { hasApi } from './api-resources.ts'
import type { ApiEntry, Catalog, CatalogEntry } from './catalog-entry.ts'
import { convertObject } from './event-object.ts'
import { fieldLimitsOf } from './field-rights.ts'
import { createOwnEnqueue } from './job-input.ts'
import { createObjectForms, type ObjectForms } from './own-event.ts'
import { createOwnLogs } from './own-words.ts'
import { createReachRule } from './ownership.ts'
import { createReadTurns } from './read-turns.ts'
import { createRows, type RowCredentials } from './rows.ts'
import { createRuleRunner } from './rule-runner.ts'
import type { ServiceDefinition } from './service.ts'
import { declaredSecrets } from './service-secrets.ts'
import { createShape, type VersionShape } from './shape.ts'
import { resourceCollection } from './table.ts'

export type { ApiEntry, Catalog, CatalogEntry }

interface CatalogDeps {
  readonly clock: Clock
  readonly random: Random
  readonly record: RecordEvent
  /** Has the lines of own code. Default: none. */
  readonly log?: Log | undefined
  /** The database whose SQL derives fields. Default: SQLite. */
  readonly database?: Database['name']
  /** The credentials of the rows that sign in. */
  readonly credentials?: RowCredentials | undefined
  /** Stores jobs of own code. Default: rejects them. */
  readonly enqueue?: EnqueueJob | undefined
  /** The indexes of each resource that are not created yet (`Collection.missingIndexes`). */
  readonly missingIndexes?: ReadonlyMap<string, ReadonlySet<string>> | undefined
  /** See `RowDeps`. */
  readonly tables?: Pick<TableState, 'triggered'> | undefined
  /** The customer and mode that anonymous callers read (§6.10). */
  readonly publicScope?: Scope | undefined
}

export const newestVersion = (service: ServiceDefinition): string => service.versions.at(-1)!.name

export function createCatalog(service: ServiceDefinition, deps: CatalogDeps): Catalog {
  const { resources } = service
  const ownLog = createOwnLogs(deps.log, declaredSecrets(service))
  const versions = service.versions.map((version) => version.name)
  const newest = newestVersion(service)
  const entries = new Map<string, CatalogEntry>()
  const apiEntries = new Map<string, ApiEntry>()
  const rowsOf = (resource: string) => entries.get(resource)!.rows
  for (const definition of resources) {
    const shapes = new Map(
      versions.map((version) => [version, createShape(definition, versions, version, resources)]),
    )
    const entry = {
      collection: resourceCollection(definition, resources, {
        missing: deps.missingIndexes,
        database: deps.database,
      }),
      shapes,
      rows: createRows(definition, shapes.get(newest)!, {
        clock: deps.clock,
        random: deps.random,
        record: deps.record,
        tables: deps.tables,
        ownLog,
        rowsOf,
        resources,
        credentials: definition.signsIn && deps.credentials,
        runRules: createRuleRunner(definition, () => catalog, deps.record),
      }),
      ...createReachRule(definition, resources, deps.publicScope),
    }
    entries.set(definition.name, { ...entry, definition })
    if (hasApi(definition)) apiEntries.set(definition.name, { ...entry, definition })
  }
  const objectForms = createObjectForms(service, versions)
  const declaredObjects = declareObjects(entries, objectForms, versions, deps.clock)
  const { objectOf } = createStoredObjects(declaredObjects)
  const render: RenderObject = (recorded, version = newest) => {
    const { type, collection, shape } = recorded
    const object = objectOf(recorded)
    const forms = objectForms.get(type)
    if (forms) return forms.convert(object, shape, version)
    const shapes = entries.get(collection ?? '')?.shapes
    const from = shapes?.get(shape)
    const to = shapes?.get(version)
    // Without the collection or a version, the object stays in the form that recorded it.
    return from && to ? convertObject(from, to, object) : object
  }
  const enqueue = createOwnEnqueue(service, deps.enqueue)
  const { clock, database = 'sqlite' } = deps
  const catalog: Catalog = {
    clock,
    database,
    service,
    versions,
    newest,
    entries,
    apiEntries,
    rowsOf,
    render,
    objectForms,
    declaredObjects,
    readObject: (type, object, version = newest) =>
      objectForms.get(type)?.read(object, version) ?? JSON.stringify(object),
    enqueue,
    ownLog,
    readTurns: createReadTurns(),
    limits: fieldLimitsOf(resources),
  }
  return catalog
}

/** Returns the members of the objects of events, as plain values. */
function declareObjects(
  entries: ReadonlyMap<string, CatalogEntry>,
  forms: ReadonlyMap<string, ObjectForms>,
  versions: readonly string[],
  clock: Clock,
): DeclaredObjects {
  return {
    types: new Map(
      [...forms].map(([type, { namesIn }]) => [
        type,
        versions.map((version) => ({ version, visible: namesIn(version), hidden: [] })),
      ]),
    ),
    collections: new Map(
      [...entries].map(([name, { shapes }]) => [name, [...shapes.values()].map(membersOf)]),
    ),
    since: Math.floor(clock.now() / 1000),
  }
}

const membersOf = ({ version, specs, hidden }: VersionShape): VersionMembers => ({
  version,
  visible: Object.keys(specs).filter((name) => !hidden.has(name)),
  hidden: [...hidden],
})
