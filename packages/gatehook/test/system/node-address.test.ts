/** Links of commands have the address of the running node (§12.2), on both databases. */
import assert from 'node:assert/strict'
import { eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { createNodeAddress } from '../../src/operate/system/node-address.ts'
import { loadConfig } from '../../src/platform/config/config.ts'

const addressOf = (env: Record<string, string> = {}) =>
  createNodeAddress({ config: loadConfig(env), log: quietLog })

eachMigrated('a command has the address of the node that runs', async (db) => {
  const command = addressOf()
  await command.adoptRunningNode(db)
  assert.equal(command.publicUrl(), 'http://127.0.0.1:8787')
  const node = addressOf({ GATEHOOK_HOST: 'localhost' })
  await node.publish(db, 4321)
  assert.equal(node.publicUrl(), 'http://localhost:4321')
  await command.adoptRunningNode(db)
  assert.equal(command.publicUrl(), 'http://localhost:4321')
})

eachMigrated('the configured public URL counts, not that of a node', async (db) => {
  await addressOf().publish(db, 4321)
  const command = addressOf({ GATEHOOK_PUBLIC_URL: 'https://api.example.com' })
  await command.adoptRunningNode(db)
  assert.equal(command.publicUrl(), 'https://api.example.com')
})

eachMigrated('a node that ends removes its own address only', async (db) => {
  const [first, second, command] = [addressOf(), addressOf(), addressOf()]
  await first.publish(db, 4001)
  await second.publish(db, 4002)
  await first.withdraw(db)
  await command.withdraw(db)
  await command.adoptRunningNode(db)
  assert.equal(command.publicUrl(), 'http://127.0.0.1:4002')
  await second.withdraw(db)
  const next = addressOf()
  await next.adoptRunningNode(db)
  assert.equal(next.publicUrl(), 'http://127.0.0.1:8787')
})
