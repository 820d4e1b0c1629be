/** Assembles the part of monitoring that records requests, in the file or tables it owns. */

import { signInResource } from '../declare/resources/directory.ts'
import { listDeclaredKinds } from '../declare/resources/expected-tables.ts'
import { scopesOfFields } from '../declare/resources/field-rights.ts'
import type { ResourceDefinition } from '../declare/resources/resource.ts'
import { createStoredDataRights } from '../identity/access/stored-data.ts'
import { createMonitoringFile } from '../operate/monitoring/file.ts'
import { createMonitoring, type Monitoring } from '../operate/monitoring/monitoring.ts'
import { createSharedStore } from '../operate/monitoring/shared-store.ts'
import { monitoringFile, nodeTarget } from '../platform/config/environment.ts'
import { openDatabase } from '../platform/storage/open.ts'
import type { Kind } from '../protocol/http/call.ts'
import type { Foundation } from './foundation.ts'

export interface MonitoringAssembly {
  /** The names of the pipeline's steps before the body, by kind of path. */
  readonly headStepNames: Readonly<Record<Kind, readonly string[]>>
  /** The scope of each operation by method and route template, once the app is composed. */
  readonly operations: ReadonlyMap<string, string | undefined>
  readonly resources: readonly ResourceDefinition[]
  /** Names of fields and members that are declared secret. */
  readonly secretFields: ReadonlySet<string>
}

/** Connections of monitoring: requests must not wait for them, nor monitoring for requests. */
const connections = { transactions: 1, reads: 1 }

export function assembleMonitoring(
  { config, db, clock, random, log, vault }: Foundation,
  { headStepNames, operations, resources, secretFields }: MonitoringAssembly,
): Monitoring {
  const file = monitoringFile(config)
  // No record of a request waits for a standby: operators read them while it is away.
  const target = { ...nodeTarget(config), durability: 'local', origin: db.origin() } as const
  const store =
    file !== undefined
      ? createMonitoringFile({ file, log })
      : createSharedStore(() => openDatabase(target, { log, connections }), db)
  return createMonitoring({
    store,
    clock,
    log,
    node: random.bytes(8).toString('hex'),
    mode: config.requestLog,
    recordsBodies: config.requestLogBodies === 'errors',
    secretFields,
    declaredKinds: listDeclaredKinds(resources),
    rightsOf: createStoredDataRights({
      operations,
      fields: scopesOfFields(resources),
      people: signInResource(resources)?.name,
    }),
    db,
    cursorKeys: vault.macKeys('cursor'),
    headStepNames,
    requiredScope: (method, route) =>
      operations.get(`${method === 'HEAD' ? 'GET' : method} ${route}`),
  })
}
