/** The scenarios of `npm run chaos`, in the order of its table and of the page of faults. */
import { clockFaults } from './clock-skew.ts'
import { copyFaults } from './copy-faults.ts'
import { databaseFaults } from './database-faults.ts'
import { deliveryFaults } from './delivery-faults.ts'
import { failovers } from './failover.ts'
import { fileFaults } from './file-faults.ts'
import { guideFaults } from './guide-faults.ts'
import { heldFaults } from './held-faults.ts'
import { keyFaults } from './key-faults.ts'
import { largeFaults } from './large-faults.ts'
import { nodeFaults } from './node-faults.ts'
import { primaryFaults } from './primary-faults.ts'
import { probeFaults } from './probe-faults.ts'
import { receiverFaults } from './receiver-faults.ts'
import { replicaFaults } from './replica-faults.ts'
import type { ChaosScenario } from './scenario.ts'
import { schemaFaults } from './schema-faults.ts'
import { startFaults } from './start-faults.ts'
import { storageFaults } from './storage-faults.ts'
import { trailFaults } from './trail-faults.ts'

export const SCENARIOS: readonly ChaosScenario[] = [
  ...nodeFaults,
  ...databaseFaults,
  ...failovers,
  ...clockFaults,
  ...deliveryFaults,
  ...primaryFaults,
  ...replicaFaults,
  ...storageFaults,
  ...heldFaults,
  ...schemaFaults,
  ...largeFaults,
  ...fileFaults,
  ...copyFaults,
  ...receiverFaults,
  ...probeFaults,
  ...keyFaults,
  ...startFaults,
  ...trailFaults,
  ...guideFaults,
]
