/** Assembles the deletion and the export of customers (§18.11). */
import type { Catalog } from '../declare/resources/catalog.ts'
import { listOwnedTables } from '../declare/resources/owned-tables.ts'
import { engineTables } from '../engine-tables.ts'
import type { Administration } from '../identity/access/administration.ts'
import { customers } from '../identity/access/tables.ts'
import { createCustomerDeletion } from '../operate/erasure/customer-deletion.ts'
import { createCustomerExport, type ExportCustomer } from '../operate/erasure/customer-export.ts'
import { erasureRoutes } from '../operate/erasure/routes.ts'
import type { Monitoring } from '../operate/monitoring/monitoring.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import { isOwned } from '../platform/storage/customer-rows.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { Component, Foundation } from './foundation.ts'
import { createJobLane, type JobLane } from './job-lane.ts'

interface ErasureAssembly {
  readonly administration: Administration
  readonly catalog: Catalog
  readonly queue: JobQueue
  readonly list: Lister
  readonly perform: Perform
  readonly monitoring: Monitoring
}

export interface Erasure extends Pick<JobLane, 'runDue'> {
  readonly components: readonly Component[]
  readonly exportCustomer: ExportCustomer
}

export function assembleErasure(
  foundation: Foundation,
  { administration: admin, catalog, queue, list, perform, monitoring }: ErasureAssembly,
): Erasure {
  const { db } = foundation
  const { store } = monitoring.options
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
  })
  const routes = erasureRoutes({ admin, list, perform, exportCustomer, deletion })
  const handlers = [deletion.handler]
  const lane = createJobLane(foundation, { lane: 'deletion', handlers, queue })
  return { runDue: lane.runDue, components: [{ routes }, lane.component], exportCustomer }
}
