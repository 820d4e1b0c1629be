/** The types of a catalog: the resources of a service, prepared to run (`catalog.ts`). */
import type { RenderObject } from '../../history/events/event.ts'
import type { DeclaredObjects } from '../../history/events/stored-objects.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { FieldLimits } from '../../protocol/idempotency/outcome.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import type { ApiResource } from './api-resources.ts'
import type { ObjectForms } from './own-event.ts'
import type { CreateOwnLog } from './own-words.ts'
import type { ReachRule } from './ownership.ts'
import type { ReadTurns } from './read-turns.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import type { ResourceRows } from './rows.ts'
import type { ServiceDefinition } from './service.ts'
import type { VersionShape } from './shape.ts'

export interface CatalogEntry extends ReachRule {
  readonly definition: ResourceDefinition
  readonly collection: Collection
  /** By version. */
  readonly shapes: ReadonlyMap<string, VersionShape>
  readonly rows: ResourceRows
}

export interface ApiEntry extends CatalogEntry {
  readonly definition: ApiResource
}

export interface Catalog {
  readonly clock: Clock
  /** The database whose SQL the catalog has. */
  readonly database: Database['name']
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  readonly newest: string
  readonly entries: ReadonlyMap<string, CatalogEntry>
  /** The resources that own code does not use alone (§15.1). */
  readonly apiEntries: ReadonlyMap<string, ApiEntry>
  rowsOf(resource: string): ResourceRows
  readonly render: RenderObject
  /** Of the events whose objects are no rows, by type. */
  readonly objectForms: ReadonlyMap<string, ObjectForms>
  /** The members that `render` returns, for the thread that delivers. */
  readonly declaredObjects: DeclaredObjects
  /** Validates the object of an external event in a version. Returns JSON text of the newest. */
  readObject(type: string, object: unknown, version: string | undefined): string
  readonly enqueue: EnqueueOwnJob
  readonly ownLog: CreateOwnLog
  readonly readTurns: ReadTurns
  readonly limits: FieldLimits
}

/** A job that own code enqueues. */
interface OwnJob {
  readonly name: string
  /** The id of the person whose request enqueues it. */
  readonly subject: string | undefined
  readonly input: AnyRow
  readonly runAt?: Date | number | undefined
}

/** Enqueues a job of own code, and returns its id. Throws for a job that the service has not. */
export type EnqueueOwnJob = (tx: Tx, scope: Scope, job: OwnJob) => Promise<string>
