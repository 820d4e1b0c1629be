/** Every command that takes a customer finds it by id or name, and objects by their ids. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { loadCommands } from '../../src/cli/commands.ts'
import { gatehook, installed, jsonOf } from './command.ts'

const ALLOWED = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }

async function startReceiver(t: TestContext): Promise<string> {
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onEnd(t, () => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

/** The arguments that a command requires besides its customer. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  'keys create': ['--name', 'x', '--scopes', 'admin'],
  'clients create': ['--name', 'x', '--grant-type', 'client_credentials', '--scope', 'orders:read'],
  'issuers create': ['--match', 'sub=job', '--scope', 'orders:read'],
  'issuers add-rule': ['--match', 'sub=job', '--scope', 'orders:read'],
  'users create': ['username=x'],
  'users update': ['--role', 'none'],
  'customers update': ['--contact', 'none'],
  'webhooks create': ['--events', '*'],
  'webhooks update': ['--description', 'x'],
  'webhooks recover': ['--since', '1h'],
  'webhooks replay': ['--since', '1h'],
}

/** A command that needs PostgreSQL, before it reads the customer. */
const NOT_ON_SQLITE = 'outbox install'

/** The command lines of all commands with a customer, up to its value. */
async function commandLines(): Promise<string[][]> {
  const lines: string[][] = []
  for (const loaded of await loadCommands(undefined)) {
    for (const { name, options = [] } of 'commands' in loaded ? loaded.commands : [loaded]) {
      const [verb = '', ...args] = name.split(' ')
      const words = 'commands' in loaded ? [loaded.name, verb] : [verb]
      if (words.join(' ') === NOT_ON_SQLITE) continue
      const needed = NEEDED[words.join(' ')] ?? []
      if (args[0] === '<CUSTOMER>') lines.push([...words, ...needed])
      if (!options.some(([flags]) => flags.startsWith('--customer'))) continue
      const values = args.filter((arg) => arg.startsWith('<')).map(() => 'https://x.example/')
      const given = words.join(' ') === 'users create' ? [] : values
      lines.push([...words, ...given, ...needed, '--customer'])
    }
  }
  return lines
}

test('every command with a customer says how to list them if there is none', async (t) => {
  const place = await installed(t)
  const lines = await commandLines()
  assert.ok(lines.length > 20)
  for (const [at, line] of lines.entries()) {
    const nobody = at % 2 === 0 ? 'Nobody' : 'cus_none'
    const { exit, stderr } = await gatehook(place, ...line, nobody)
    const command = line.join(' ')
    assert.match(stderr, /There is no customer "?\w+"?\. .*gatehook customers list/, command)
    assert.equal(exit, 2, command)
  }
})

test('a customer is named by its id or its name; several of one name are listed', async (t) => {
  const place = await installed(t)
  const club = await jsonOf(place, 'customers', 'create', 'Tennis Club')
  const key = ['keys', 'create', '--name', 'x', '--scopes', 'events:read', '--customer']
  for (const name of [club.id, 'Tennis Club']) {
    assert.equal((await jsonOf(place, ...key, name)).customer, club.id)
    assert.equal((await jsonOf(place, 'portal-link', name)).customer, club.id)
    assert.equal((await jsonOf(place, 'keys', 'list', '--customer', name)).data.length > 0, true)
    assert.deepEqual((await jsonOf(place, 'webhooks', 'list', '--customer', name)).data, [])
  }
  assert.equal((await jsonOf(place, 'customers', 'suspend', 'Tennis Club')).suspended, true)
  const twin = await jsonOf(place, 'customers', 'create', 'Tennis Club')
  const { exit, stderr } = await gatehook(place, ...key, 'Tennis Club')
  assert.equal(exit, 2)
  for (const text of [club.id, twin.id, 'gatehook customers list']) assert.ok(stderr.includes(text))
})

test('a registration is matches by its id in any mode and customer', async (t) => {
  const place = await installed(t)
  const club = await jsonOf(place, 'customers', 'create', 'Tennis Club')
  const owner = ['--mode', 'live', '--customer', club.id]
  const args = ['webhooks', 'create', await startReceiver(t), '--events', '*', ...owner]
  const hook = await jsonOf({ ...place, env: ALLOWED }, ...args)
  for (const options of [[], owner, ['--mode', 'live'], ['--customer', 'Tennis Club']]) {
    const line = ['webhooks', 'deliveries', hook.id, ...options]
    assert.equal((await gatehook(place, ...line)).stdout, 'No deliveries.\n')
  }
  for (const options of [
    ['--mode', 'test'],
    ['--customer', 'default'],
  ]) {
    const { exit, stderr } = await gatehook(place, 'webhooks', 'test', hook.id, ...options)
    assert.deepEqual([exit, stderr.includes(`--mode live --customer ${club.id}`)], [1, true])
  }
  const unknown = await gatehook(place, 'webhooks', 'deliveries', 'wh_none')
  assert.match(unknown.stderr, /no registration wh_none in the test data of cus_default; .*--mode/)
})

test('a command that may not call a private address names the environment it reads', async (t) => {
  const place = await installed(t)
  const url = await startReceiver(t)
  const create = (target: string) => ['webhooks', 'create', target, '--events', '*']
  const hook = await jsonOf({ ...place, env: ALLOWED }, ...create(url))
  const sentence = /reads its own environment.* GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1 here too/
  const refused = [
    create(url),
    create('https://127.0.0.1/hook'),
    create('https://localhost/hook'),
    ['webhooks', 'test', hook.id],
  ]
  for (const line of refused) {
    const { exit, stdout, stderr } = await gatehook(place, ...line)
    assert.match(stdout + stderr, sentence, line.join(' '))
    assert.notEqual(exit, 0)
  }
  const allowed = await gatehook({ ...place, env: ALLOWED }, 'webhooks', 'test', hook.id)
  assert.equal(allowed.exit, 0)
  const other = await gatehook(place, ...create('https://receiver.invalid/hook'))
  assert.doesNotMatch(other.stderr, sentence)
})
