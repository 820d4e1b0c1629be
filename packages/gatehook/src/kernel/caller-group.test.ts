/** Addresses without a credential have one share together: strangers have any number of them. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  addressGroup,
  backendGroup,
  createGroupPlaces,
  createGroupShare,
  createGroupTurns,
  createOwnerTurns,
} from './caller-group.ts'
import type { Scope } from './principal.ts'

const CUSTOMER = backendGroup(2 as Scope)
const addresses = Array.from({ length: 60 }, (_, n) => addressGroup(`192.0.2.${n}`))

/** Begins bodies of all addresses and one of a customer, and returns which run then. */
async function runningBeside(run: (group: string, body: () => Promise<void>) => unknown) {
  const running: string[] = []
  for (const group of [...addresses, CUSTOMER]) {
    void run(group, () => {
      running.push(group)
      return new Promise(() => {})
    })
  }
  await nextTick()
  return running
}

test('addresses take one turn together', async () => {
  const groups = createGroupTurns(2)
  const owners = createOwnerTurns(2)
  for (const running of [
    await runningBeside((group, body) => groups(group, body)),
    await runningBeside((group, body) => owners({ group, caller: group }, body)),
  ]) {
    assert.deepEqual(running, [addresses[0], CUSTOMER])
  }
})

test('the work of one address is that of all, and of no customer', () => {
  const share = createGroupShare({ clock: { elapsedMs: () => 0 }, part: 0.5 })
  share.addWork(addresses[0]!, 10)
  assert.equal(share.restMs(addresses[1]!), 10)
  assert.equal(share.restMs(CUSTOMER), 0)
})

test('addresses have the places of one group', () => {
  const take = createGroupPlaces({ total: 10, ofGroup: 3 })
  const taken = addresses.map((group) => take(group)).filter((leave) => leave !== undefined)
  assert.equal(taken.length, 3)
  assert.ok(take(CUSTOMER))
  taken[0]!()
  assert.ok(take(addresses[9]!))
})

/** Files whose keys are no groups of callers. */
const OTHER_KEYS: Readonly<Record<string, string>> = {
  'history/events/shared-pages.ts': 'customers',
  'kernel/caller-group.ts': 'groups, by the keys of their shares',
  'operate/monitoring/request-reader.ts': 'customers and operators',
  'platform/storage/large-writes.ts': 'customers of groups',
  'platform/storage/postgres.ts': 'customers of groups: the rests of turns of groups',
  'platform/storage/serial-admission.ts': 'customers of groups',
  'platform/storage/write-lanes.ts': 'keys of shares, which the writer of SQLite passes',
  'protocol/http/refusals.ts': 'each address, and strangers',
}

test('turns, shares and places of groups know strangers', () => {
  const folder = fileURLToPath(new URL('../', import.meta.url))
  const files = globSync('**/*.ts', { cwd: folder }).filter((path) => !path.endsWith('.test.ts'))
  const creators = files.filter((path) =>
    readFileSync(`${folder}${path}`, 'utf8')
      .split('\n')
      .some((line) => /^(?!export ).*create(?:Share|Turns|MemberTurns|Places)\(/.test(line)),
  )
  const others = creators.filter((path) => path !== 'kernel/turns.ts')
  assert.deepEqual(others.sort(), Object.keys(OTHER_KEYS).sort())
})
