/**
 * The faults of `npm run chaos -- operate`, beside those of the group `load`: each one ends without
 * a lost, doubled or phantom row, and the product names its cause within a minute.
 */
import { primaryFaults } from './primary-faults.ts'
import type { ChaosScenario } from './scenario.ts'

export const operatorFaults: readonly ChaosScenario[] = [...primaryFaults]
