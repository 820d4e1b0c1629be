/** §12.7: every command prints text of callers without control characters. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { loadCommands } from '../../src/cli/commands.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { openHook } from '../webhooks/hook.ts'
import { gatehook } from './command.ts'
import { serving } from './process.ts'

const HOSTILE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u
const LINE = 'evil\u009b31m\u202e\u2066\u200f\u2028'
const TEXT = `${LINE}\u001b]0;PWNED\u0007\u001b[2J\nforged row\r`

/** The arguments of each command that prints stored text; `ids` has the first id of each list. */
const PRINTED: Readonly<
  Record<string, (ids: ReadonlyMap<string, string>) => string[] | undefined>
> = {
  'keys list': () => [],
  'clients list': () => [],
  'issuers list': () => [],
  'customers list': () => [],
  'users list': () => [],
  'users disable': () => ['a@example.com'],
  'operators list': () => [],
  'operators sessions': () => [],
  'webhooks list': () => ['--mode', 'live'],
  'webhooks deliveries': (ids) => [ids.get('webhooks list')!, '--mode', 'live'],
  'events list': () => ['--mode', 'live'],
  'events show': (ids) => [ids.get('events list')!, '--mode', 'live'],
  'requests list': () => [],
  'requests show': (ids) => [ids.get('requests list')!],
  'audit list': () => [],
  'versions list': () => [],
  'versions usage': () => ['v2'],
  'versions callers': () => ['v2'],
  'versions changelog': () => [],
  'jobs list': () => [],
  logs: () => [],
  config: () => [],
  doctor: () => [],
  openapi: () => ['--version', 'v2'],
  'client types': () => ['--version', 'v2'],
}

/** Leaves hostile text in names, rows, events, requests and the audit trail. */
async function leaveHostileText(url: string, key: string, hookUrl: string): Promise<void> {
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const reply = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return reply.status
  }
  const oneOf = async (path: string, ...bodies: Record<string, unknown>[]) => {
    for (const body of bodies) if ((await send('POST', path, body)) < 300) return
    assert.fail(`${path} accepts no hostile text`)
  }
  const person = { email: 'a@example.com', password: 'correct horse battery' }
  await oneOf('/admin/users', { ...person, name: TEXT }, { ...person, name: LINE })
  const rule = { match: { sub: TEXT }, customer: 'default', mode: 'live', scopes: [] }
  await oneOf('/admin/issuers', { issuer: 'https://ci.example', rules: [rule] })
  for (const name of [TEXT, LINE]) {
    await send('POST', '/admin/customers', { name })
    await send('POST', '/admin/keys', { name, scopes: ['users:read'] })
    await send('POST', '/admin/clients', { name, scopes: ['users:read'] })
    await send('POST', '/api/v2/users', { name, email: `${name.length}@example.com` })
  }
  await oneOf(
    '/webhooks',
    { url: hookUrl, events: ['*'], description: LINE },
    { url: hookUrl, events: ['*'] },
  )
  await send('GET', `/api/v2/users?fields=${encodeURIComponent(TEXT)}`)
  await send('GET', `/api/v2/users?${encodeURIComponent(TEXT)}=1`)
  await send('POST', '/api/v2/users', { [TEXT]: 1, name: 'x' })
}

test('no command prints a control character of a caller, with or without --json', async (t) => {
  const key = generateApiKey(systemRandom(), 'live')
  const cwd = emptyFolder(t)
  const env = { GATEHOOK_BOOTSTRAP_KEY: key, GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
  const node = await serving(t, { cwd, env }, '--no-seed')
  await leaveHostileText(node.url, key, (await openHook(t)).url)
  // A node stores its log of requests some time after them. A command exits with 75 while the node
  // holds the file of the log for long.
  const readLog = async () => (await gatehook({ cwd }, 'requests', 'list', '--json')).stdout
  await eventually(readLog, (text) => text !== '' && JSON.parse(text).data.length > 0)
  const ids = new Map<string, string>()
  for (const spec of await loadCommands(undefined)) {
    const members = 'commands' in spec ? spec.commands.map(({ name }) => name) : [undefined]
    for (const member of members) {
      const words = [spec.name.split(' ')[0]!, ...(member ? [member.split(' ')[0]!] : [])]
      const args = PRINTED[words.join(' ')]?.(ids)
      if (!args) continue
      for (const flags of [['--json'], []]) {
        const { exit, stdout, stderr } = await gatehook({ cwd }, ...words, ...args, ...flags)
        const text = stdout + stderr
        assert.notEqual(exit, 2, `${words.join(' ')}: ${text}`)
        assert.doesNotMatch(text.replaceAll('\n', ''), HOSTILE, words.join(' '))
        const isForged = flags.length === 0 && /^forged row/m.test(text)
        assert.ok(!isForged, `${words.join(' ')} prints a line of a caller`)
        if (flags.length === 0 || !stdout.startsWith('{')) continue
        const row = JSON.parse(stdout).data?.[0]
        if (row?.id) ids.set(words.join(' '), String(row.id))
      }
    }
  }
  for (const list of ['keys list', 'webhooks list', 'events list', 'requests list'])
    assert.ok(ids.has(list), `${list} has no row`)
  const unknown = await gatehook({ cwd }, 'keys', `x${TEXT}`)
  assert.doesNotMatch(unknown.stderr.replaceAll('\n', ''), HOSTILE, 'an error')
})

test('one function writes to the terminal', () => {
  const folder = new URL('../../src/cli/', import.meta.url)
  const writers = readdirSync(folder).filter((name) =>
    /process\.std(out|err)\.write|console\.\w+\(/.test(readFileSync(new URL(name, folder), 'utf8')),
  )
  assert.deepEqual(writers, [])
})
