/** Several nodes on one PostgreSQL, each with connections and a memory of its own. */
import { type TestContext, test } from 'node:test'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { migrateEngine } from '../../src/storage/migrate.ts'
import { ManualClock } from '../access/test-node.ts'
import { type Desk, type DeskOptions, openDesk, world } from './desk.ts'

/** Defines a test over nodes that share a database, a time, people, clients and customers. */
export function eachNode(
  name: string,
  body: (nodes: readonly [Desk, Desk], t: TestContext) => Promise<void>,
  options: DeskOptions = {},
): void {
  test(`${name} [postgres]`, async (t) => {
    const url = await freshUrl(t, 'postgres')
    const shared = { time: new ManualClock(), world: world(), ...options }
    const dbs = [await openForTest(t, url), await openForTest(t, url)] as const
    await migrateEngine(dbs[0], { clock: wallClock })
    await body([await openDesk(dbs[0], t, shared), await openDesk(dbs[1], t, shared)], t)
  })
}
