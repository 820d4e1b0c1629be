/** §3.8 during a rotation of the master secret: hashes under the old keys still count. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { INSTALLATION } from '../../src/identity/people/namespace.ts'
import {
  CLIENTS_PURPOSE,
  createRecognizedClients,
} from '../../src/identity/people/recognized-clients.ts'
import { createThrottle } from '../../src/identity/people/throttle.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { ManualClock } from '../access/test-node.ts'
import { NEW, NEW_ID, OLD, random } from '../secrets/rotation.ts'

const identity = {
  realm: 'person',
  namespace: INSTALLATION,
  username: 'ada',
  address: '192.0.2.1',
} as const

function rotate(vault: Vault): void {
  vault.addMasters([NEW])
  vault.activate(NEW_ID)
}

eachMigrated('failed attempts from before a rotation count after it', async (db) => {
  const vault = new Vault(OLD, random)
  const { clock } = new ManualClock()
  const throttle = createThrottle({ db, clock, vault, report: async () => {} })
  for (let n = 0; n < 6; n++) await throttle.begin(identity)
  rotate(vault)
  for (let n = 0; n < 3; n++) await throttle.begin(identity)
  const last = await throttle.begin(identity)
  const isLimited = (error: unknown) => error instanceof Failure && error.code === 'rate_limited'
  await assert.rejects(throttle.begin(identity), isLimited)
  await assert.rejects(throttle.check(identity), isLimited)
  await throttle.recordSuccess(last)
  for (let n = 0; n < 10; n++) await throttle.begin(identity)
  await assert.rejects(throttle.begin(identity), isLimited)
})

eachMigrated('a client that signed in before a rotation is recognized after it', async (db) => {
  const vault = new Vault(OLD, random)
  const { clock } = new ManualClock()
  const clients = createRecognizedClients(db, clock, vault)
  const account = { id: 7, password: 'a hash' }
  const find = () => clients.find('person', account, { address: '192.0.2.1' })
  assert.equal((await find()).clientKey, undefined)
  const { remember } = await find()
  await db.write(remember)
  const before = (await find()).clientKey
  assert.ok(before)
  rotate(vault)
  const old = vault.retiringKey(vault.keyIds[1]!, CLIENTS_PURPOSE)
  assert.equal((await find()).clientKey, before)
  vault.dropInactive()
  assert.equal((await find()).clientKey, undefined)
  vault.acceptRetiredKeys(CLIENTS_PURPOSE, [old.export()])
  const repeated = await find()
  assert.equal(repeated.clientKey, before)
  await db.write(repeated.remember)
  vault.acceptRetiredKeys(CLIENTS_PURPOSE, [])
  const after = (await find()).clientKey
  assert.ok(after && after !== before)
})
