/**
 * The faults of `npm run chaos -- operate`, beside those of the group `load`: each one ends without
 * a lost, doubled or phantom row, and the product names its cause within a minute.
 */
import { copyFaults } from './copy-faults.ts'
import { fileFaults } from './file-faults.ts'
import { guideFaults } from './guide-faults.ts'
import { heldFaults } from './held-faults.ts'
import { keyFaults } from './key-faults.ts'
import { primaryFaults } from './primary-faults.ts'
import { receiverFaults } from './receiver-faults.ts'
import type { ChaosScenario } from './scenario.ts'
import { schemaFaults } from './schema-faults.ts'
import { startFaults } from './start-faults.ts'
import { storageFaults } from './storage-faults.ts'
import { trailFaults } from './trail-faults.ts'

export const operatorFaults: readonly ChaosScenario[] = [
  ...primaryFaults,
  ...storageFaults,
  ...heldFaults,
  ...schemaFaults,
  ...fileFaults,
  ...copyFaults,
  ...receiverFaults,
  ...keyFaults,
  ...startFaults,
  ...trailFaults,
  ...guideFaults,
]
