/** §3.8 while the master secret rotates: hashes stored under the old one count and are found. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { CLIENTS_PURPOSE, createRecognizedClients } from '../../src/people/recognized-clients.ts'
import { createThrottle } from '../../src/people/throttle.ts'
import { HandClock } from '../access/desk.ts'
import { NEW, NEW_ID, OLD, random } from '../secrets/rotation.ts'

const who = { realm: 'person', username: 'ada', address: '192.0.2.1' } as const

function rotate(vault: Vault): void {
  vault.addMasters([NEW])
  vault.activate(NEW_ID)
}

eachMigrated('failed attempts of before a rotation count after it', async (db) => {
  const vault = new Vault(OLD, random)
  const { clock } = new HandClock()
  const throttle = createThrottle({ db, clock, vault, tell: async () => {} })
  for (let n = 0; n < 6; n++) await throttle.begin(who)
  rotate(vault)
  for (let n = 0; n < 3; n++) await throttle.begin(who)
  const last = await throttle.begin(who)
  const isRefused = (error: unknown) => error instanceof Failure && error.code === 'rate_limited'
  await assert.rejects(throttle.begin(who), isRefused)
  await assert.rejects(throttle.check(who), isRefused)
  await throttle.succeeded(last)
  for (let n = 0; n < 10; n++) await throttle.begin(who)
  await assert.rejects(throttle.begin(who), isRefused)
})

eachMigrated('a client that signed in before a rotation is known after it', async (db) => {
  const vault = new Vault(OLD, random)
  const { clock } = new HandClock()
  const clients = createRecognizedClients(db, clock, vault)
  const account = { id: 7, password: 'a hash' }
  const find = () => clients.find('person', account, { address: '192.0.2.1' })
  assert.equal((await find()).known, undefined)
  const { remember } = await find()
  await db.write(remember)
  const before = (await find()).known
  assert.ok(before)
  rotate(vault)
  const old = vault.retiringKey(vault.keyIds[1]!, CLIENTS_PURPOSE)
  assert.equal((await find()).known, before)
  vault.dropInactive()
  assert.equal((await find()).known, undefined)
  vault.acceptRetiredKeys(CLIENTS_PURPOSE, [old.export()])
  const again = await find()
  assert.equal(again.known, before)
  await db.write(again.remember)
  vault.acceptRetiredKeys(CLIENTS_PURPOSE, [])
  const after = (await find()).known
  assert.ok(after && after !== before)
})
