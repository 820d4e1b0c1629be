/** Assembles deletions and exports of customers and persons (§18.11). */
import type { Catalog } from '../declare/resources/catalog.ts'
import { createDirectory } from '../declare/resources/directory.ts'
import { listOwnedTables } from '../declare/resources/owned-tables.ts'
import { createPersonalData } from '../declare/resources/personal-data.ts'
import { readSecretFields } from '../declare/resources/secret-columns.ts'
import { engineTables } from '../engine-tables.ts'
import type { RecordEvent } from '../history/events/store.ts'
import type { Administration } from '../identity/access/administration.ts'
import { customers } from '../identity/access/tables.ts'
import { createCustomerDeletion } from '../operate/erasure/customer-deletion.ts'
import { createCustomerExport, type ExportCustomer } from '../operate/erasure/customer-export.ts'
import { createPersonErasure } from '../operate/erasure/person-erasure.ts'
import { createPersonExport, type ExportPerson } from '../operate/erasure/person-export.ts'
import { erasureRoutes } from '../operate/erasure/routes.ts'
import type { Monitoring } from '../operate/monitoring/monitoring.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import type { MailOutbox } from '../platform/mail/outbox.ts'
import { isOwned, type OwnedTable } from '../platform/storage/customer-rows.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { Component, Foundation } from './foundation.ts'
import { createJobLane, type JobLane } from './job-lane.ts'
import type { LateCalls } from './late-calls.ts'
import { assembleCredentials } from './people.ts'

interface ErasureAssembly {
  readonly administration: Administration
  readonly catalog: Catalog
  readonly queue: JobQueue
  readonly list: Lister
  readonly perform: Perform
  readonly monitoring: Monitoring
  readonly record: RecordEvent
  readonly mailOutbox: MailOutbox
  readonly late: LateCalls
}

export interface Erasure extends Pick<JobLane, 'runDue'> {
  readonly components: readonly Component[]
  readonly exportCustomer: ExportCustomer
  /** Undefined if no resource signs in. */
  readonly exportPerson: ExportPerson | undefined
}

export function assembleErasure(foundation: Foundation, assembly: ErasureAssembly): Erasure {
  const { db } = foundation
  const { administration: admin, catalog, queue, list, perform } = assembly
  const { store } = assembly.monitoring.options
  const ofEngine = engineTables.filter((table) => isOwned(table) && table !== customers)
  const listTables = async () => [...(await listOwnedTables(db, catalog.service)), ...ofEngine]
  const deletion = createCustomerDeletion({
    db,
    audit: admin,
    enqueue: queue.enqueue,
    listTables,
    monitoring: store,
  })
  const exportCustomer = createCustomerExport({
    admin,
    listTables: async () => [customers, ...(await listTables())],
    monitoring: store,
    readSecretFields: () => readSecretFields(db, catalog.service.resources),
  })
  const persons = assemblePersons(foundation, assembly, ofEngine)
  const routes = erasureRoutes({ admin, list, perform, exportCustomer, deletion, persons })
  const handlers = [...deletion.handlers, ...(persons?.erasure.handlers ?? [])]
  const lane = createJobLane(foundation, { lane: 'deletion', handlers, queue })
  const components = [{ routes }, lane.component]
  return { runDue: lane.runDue, components, exportCustomer, exportPerson: persons?.export }
}

/** Returns undefined if no resource signs in. */
function assemblePersons(
  foundation: Foundation,
  { administration: admin, catalog, queue, monitoring, record, mailOutbox, late }: ErasureAssembly,
  tables: readonly OwnedTable[],
) {
  const { db, vault } = foundation
  const directory = createDirectory(catalog)
  const personal = createPersonalData(catalog, vault.macKeys('erasure'))
  const credentials = assembleCredentials(foundation, catalog.service, late, mailOutbox)
  if (!directory || !personal || !credentials) return undefined
  const deps = {
    ...{ admin, trail: admin.trail, db, vault, directory, personal, credentials, record, tables },
    enqueue: queue.enqueue,
    readSecretFields: () => readSecretFields(db, catalog.service.resources),
    monitoring: monitoring.options.store,
    render: catalog.render,
    newest: catalog.newest,
    effective: late.livingVersion,
    wake: late.wakeDeliveries,
  }
  return { erasure: createPersonErasure(deps), export: createPersonExport(deps) }
}
