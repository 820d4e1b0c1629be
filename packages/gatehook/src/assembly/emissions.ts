/**
 * Assembles the recorder of events that SQL emits (§17.2), which works once a role may emit, and
 * the audit of customers that SQL creates.
 */
import { hash } from 'node:crypto'
import type { Catalog } from '../declare/resources/catalog.ts'
import { emittedEventTypes } from '../declare/resources/event-type-list.ts'
import type { AuditContext } from '../history/audit/store.ts'
import type { RecordEvent } from '../history/events/store.ts'
import { findCustomerOf } from '../identity/access/customer-reader.ts'
import { auditCustomersOfSql, selectUnaudited } from '../identity/access/customers-of-sql.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Scope } from '../kernel/principal.ts'
import { selectInstalled } from '../outbound/emissions/grants.ts'
import { createEmissionRecorder } from '../outbound/emissions/recorder.ts'
import { emissions } from '../outbound/emissions/tables.ts'
import type { Reader, Value } from '../platform/storage/database.ts'
import { purgeExpired } from '../platform/storage/purge.ts'
import type { Component, Foundation } from './foundation.ts'

/** Deliveries begin within a second of the commit. */
const INTERVAL_MS = 250

export interface EmissionAssembly {
  readonly catalog: Catalog
  readonly record: RecordEvent
  readonly audit: AuditContext
}

export interface EmissionComponent extends Omit<Component, 'routes'> {
  /** Whether events may be recorded long after the time in their ids. */
  readonly mayRecordLate: () => boolean
}

async function hasCustomer(from: Reader, scope: Scope): Promise<boolean> {
  const customer = await findCustomerOf(from, scope)
  return customer !== undefined && customer.deleting_since === null
}

/** Identifies what an object must fit: the events, the versions and the program. */
function describeDeclaration({ service, objectForms, versions }: Catalog, release = ''): string {
  const facts = service.externalEvents.map(({ type, from }) => [
    type,
    from,
    objectForms.get(type)?.specs,
  ])
  const withFunctions = (_: string, value: unknown) =>
    typeof value === 'function' ? String(value) : value
  return hash('sha256', JSON.stringify([release, versions, facts], withFunctions)).slice(0, 16)
}

export function assembleEmissions(
  { db, clock, log, release }: Foundation,
  { catalog, record, audit }: EmissionAssembly,
): EmissionComponent {
  const types = new Set(emittedEventTypes(catalog.service))
  const recorder = createEmissionRecorder({
    db,
    clock,
    log,
    record,
    readObject: (type, object) => catalog.readObject(type, object, undefined),
    isDeclared: (type) => types.has(type),
    hasCustomer,
    declaration: describeDeclaration(catalog, release),
  })
  let isInstalled: boolean | undefined
  let wasInstalled = false
  const receive = (value: Value) => {
    isInstalled = value !== 0
    wasInstalled ||= isInstalled
  }
  let isUnaudited = false
  let stops: readonly (() => Promise<void>)[] = []
  return {
    // Streams may have yet to pass the late events of a role that emits no longer.
    mayRecordLate: () => wasInstalled || isInstalled === undefined,
    polled: [
      { select: selectInstalled, receive },
      { select: selectUnaudited, receive: (value) => void (isUnaudited ||= value !== 0) },
    ],
    // An idle node without rows sends nothing.
    chores: {
      emissions: async () => (isInstalled ? purgeExpired(db, [emissions], clock.now()) : 0),
    },
    start() {
      const startTask = (run: () => Promise<void>, failure: string) =>
        startInterval({ intervalMs: INTERVAL_MS, run, log, failure })
      // One that fails or takes long does not delay the other.
      const recordEvents = async () => {
        if (isInstalled) await recorder.run()
      }
      const auditCustomers = async () => {
        if (isUnaudited) isUnaudited = await auditCustomersOfSql(db, audit)
      }
      stops = [
        startTask(recordEvents, 'emitted events could not be recorded yet'),
        startTask(auditCustomers, 'the creation of customers by SQL could not be audited yet'),
      ]
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}
