/** The changes of rows and their dependencies (`rows.ts`). Contains types only. */
import type { Actor } from '../../history/audit/actor.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Principal, Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import type { RowId } from '../../kernel/row-id.ts'
import type { Reader, Tx, Value } from '../../platform/storage/database.ts'
import type { TableState } from '../../platform/storage/table-state.ts'
import type { CreateOwnLog } from './own-words.ts'
import type { RowReach } from './ownership.ts'
import type { ActionDefinition, AnyRow, ResourceDefinition } from './resource.ts'
import type { VersionShape } from './shape.ts'
import type { RowStore } from './store.ts'

/** A row and its JSON text in the newest shape: the event's object, and mostly the response. */
export interface WrittenRow {
  readonly row: AnyRow
  readonly text: string
}

/** The row to change, and a precondition on its current state. */
export interface RowTarget {
  readonly reach: RowReach
  readonly id: RowId
  readonly guard?: (row: AnyRow) => void
  /**
   * The fields that the caller does not see. One that the change has counts as changed, whatever
   * its value: a caller could otherwise guess the value.
   */
  readonly hidden?: ReadonlySet<string>
  /**
   * Returns whether the caller may give a row with a credential this sign-in name. Default: it may
   * not (§6.9). Values of own code never change a sign-in name.
   */
  readonly permitsUsername?: (username: unknown) => boolean
  /** The actor in the audit trail if the change affects a credential. Default: the engine. */
  readonly actor?: Actor | undefined
  /** The deletion that this change is a part of. */
  readonly cascade?: CascadeState
}

/** One deletion: the rows that it deletes, by resource and id. */
interface CascadeState {
  readonly deleted: Set<string>
  /** The rows to which deleted rows referred with a restriction, and the resource of these. */
  readonly restricted: Map<string, string>
}

/** Returns the fields to change of a locked row. */
type RowEdit = (row: AnyRow) => AnyRow

export interface ResourceRows {
  readonly definition: ResourceDefinition
  readonly newest: VersionShape
  readonly store: RowStore
  /** Returns the row of cells in declared order. */
  readonly decode: (cells: readonly Value[]) => AnyRow
  /** Returns the row. Throws `not_found`, also for a row out of reach. */
  get(reader: Reader, reach: RowReach, id: RowId): Promise<AnyRow>
  /** Returns the row with the values of a unique tuple; undefined for none in reach. */
  findUnique(
    reader: Reader,
    reach: RowReach,
    fields: readonly string[],
    values: AnyRow,
  ): Promise<AnyRow | undefined>
  /** Returns the row, and locks it until the transaction ends. Throws `not_found`. */
  lock(tx: Tx, target: RowTarget): Promise<AnyRow>
  /** Omitted fields have their defaults. */
  create(tx: Tx, reach: RowReach, values: AnyRow): Promise<WrittenRow>
  /** Like `create`; the caller adds the rows of the transaction to the total with `addCreated`. */
  createUncounted(tx: Tx, reach: RowReach, values: AnyRow): Promise<WrittenRow>
  /** Adds created rows to the total. `last` is one of them. */
  addCreated(tx: Tx, reach: RowReach, last: AnyRow, count: number): Promise<void>
  update(tx: Tx, target: RowTarget, edit: RowEdit): Promise<WrittenRow>
  act(tx: Tx, target: RowTarget, action: ActionDefinition, input: AnyRow): Promise<WrittenRow>
  /** Records an event of the row as it is. Throws `not_found`. */
  emit(tx: Tx, reach: RowReach, type: string, id: RowId): Promise<void>
  /** Deletes the row, or marks it as deleted if the resource has soft deletion. */
  remove(tx: Tx, target: RowTarget): Promise<void>
  /** Restores a deleted row. Throws `not_found`, and `invalid_state` for a row that exists. */
  restore(tx: Tx, target: RowTarget): Promise<WrittenRow>
  /** Deletes a row that is marked as deleted, for good. */
  erase(tx: Tx, target: RowTarget): Promise<void>
}

/** Whether a change of a row changes its sign-in name, and may do so. */
export type UsernamePermission = 'none' | 'permitted' | 'protected'

/** The row of a credential, and the principal that changes it; undefined for the engine. */
export interface CredentialTarget {
  readonly scope: Scope
  readonly id: number
  readonly principal: Principal | undefined
  readonly actor: Actor | undefined
}

/** Keeps the credentials of rows that sign in consistent, in one transaction (§6.3, §6.8, §6.9). */
export interface RowCredentials {
  /**
   * Runs before the row is deleted, or its sign-in name, name or e-mail address changes, and before
   * checks whose result depends on other rows. Throws 403 `credential_protected` for a sign-in name
   * that the change must not set, and 403 `insufficient_scope` if the change requires `admin`.
   */
  authorize(tx: Tx, target: CredentialTarget, username: UsernamePermission): Promise<void>
  /**
   * Runs after `fields` of the row changed. Throws `conflict` if another row has its sign-in name.
   */
  rename(tx: Tx, target: CredentialTarget, fields: readonly string[], row: AnyRow): Promise<void>
  remove(tx: Tx, target: CredentialTarget): Promise<void>
}

/** Runs the rules of an operation. Returns the values that complete the change. */
export type RunRules = (
  tx: Tx,
  target: Pick<RowTarget, 'reach' | 'actor'>,
  operation: string,
  rows: { readonly before?: AnyRow; readonly after?: AnyRow },
) => Promise<AnyRow>

export interface RowDeps {
  readonly clock: Clock
  readonly random: Random
  readonly record: RecordEvent
  /** Which tables have triggers of the team. Default: none has. */
  readonly tables?: Pick<TableState, 'triggered'> | undefined
  readonly ownLog: CreateOwnLog
  /** Returns the rows of a resource by name, to check references. */
  readonly rowsOf: (resource: string) => ResourceRows
  /** Every resource of the service. */
  readonly resources: readonly ResourceDefinition[]
  /** Defined for the resource whose rows sign in. */
  readonly credentials?: RowCredentials | undefined
  readonly runRules: RunRules
}
