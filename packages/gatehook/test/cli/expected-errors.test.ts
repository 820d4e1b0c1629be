/** Expected errors: one sentence with the remedy, an exit code, no stack. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { gatehook, ownProcess, type ProcessResult } from './command.ts'

function assertSentence(
  { exit, stdout, stderr }: ProcessResult,
  expected: number,
  sentence: RegExp,
) {
  assert.match(stderr, sentence)
  assert.equal(exit, expected)
  assert.doesNotMatch(stderr + stdout, /\n\s+at |bug/)
}

test('a port in use; no database is created', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  onEnd(t, () => holder.close())
  await new Promise((resolve) => holder.once('listening', resolve))
  const { port } = holder.address() as AddressInfo
  const cwd = emptyFolder(t)
  const ended = await gatehook({ cwd }, 'start', '--port', String(port))
  assertSentence(ended, 1, new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use\\. .*--port 0`))
  assert.equal(existsSync(join(cwd, 'data')), false)
})

test('an argument of a command without arguments suggests its option', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const suggestions: readonly [string[], RegExp][] = [
    [['openapi', 'v2'], /Try: gatehook openapi --version v2\n/],
    [['keys', 'create', 'CI'], /Try: gatehook keys create --name CI\n/],
    [['listen', '3000'], /Try: gatehook listen --forward-to 3000\n/],
    [['openapi', '--version', 'v2', 'v1'], /too many arguments[^\n]*\n\s+See: /],
  ]
  for (const [words, sentence] of suggestions) {
    assertSentence(await gatehook(place, ...words), 2, sentence)
  }
})

test('an address no interface has', async (t) => {
  const env = { GATEHOOK_TRUST_PROXY: '127.0.0.1' }
  const ended = await gatehook({ cwd: emptyFolder(t), env }, 'start', '--host', '192.0.2.1')
  assertSentence(ended, 78, /No interface of this machine has the address 192\.0\.2\.1/)
})

test('a data folder that cannot be created', async (t) => {
  for (const place of ['/proc/gatehook/g.db', join(emptyFolder(t), 'file', 'g.db')]) {
    if (!place.startsWith('/proc')) writeFileSync(join(place, '..'), '')
    const args = ['start', '--port', '0', '--database-url', `sqlite:${place}`]
    assertSentence(await gatehook({ cwd: emptyFolder(t) }, ...args), 78, /cannot be \w+: /)
  }
})

test('a file that is not a database', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(
    join(cwd, 'g.db'),
    'this is a text, and long enough to be read as a header of pages',
  )
  const args = ['start', '--port', '0', '--database-url', 'sqlite:g.db']
  assertSentence(await gatehook({ cwd }, ...args), 78, /g\.db cannot be opened: it is not a SQLite/)
})

const UNPRIVILEGED_USER = 65_534

test('a file of the database that this user may not write', {
  skip: process.getuid?.() !== 0 && 'it starts a process as another user',
}, async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'migrate')
  const data = join(cwd, 'data')
  const database = join(data, 'gatehook.db')
  for (const path of [cwd, data, ...readdirSync(data).map((name) => join(data, name))]) {
    chownSync(path, UNPRIVILEGED_USER, UNPRIVILEGED_USER)
  }
  for (const suffix of ['', '-wal', '-shm', '.lock']) {
    const path = `${database}${suffix}`
    if (suffix !== '') writeFileSync(path, '')
    chownSync(path, UNPRIVILEGED_USER, UNPRIVILEGED_USER)
    chmodSync(path, 0o444)
    for (const args of [
      ['start', '--port', '0'],
      ['keys', 'list'],
    ]) {
      const ended = await ownProcess({ cwd, uid: UNPRIVILEGED_USER }, ...args)
      assertSentence(ended, 78, new RegExp(`${path} has the mode 0444, .*chmod 600 ${path}`))
    }
    if (suffix === '') chmodSync(path, 0o600)
    else rmSync(path)
  }
})

test('§18.7: a database that does not answer ends a start with 75', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const env = {
    GATEHOOK_DATABASE_URL: `postgres://gatehook:hunter2@127.0.0.1:${port}/gatehook`,
    GATEHOOK_SECRET_KEY: 'k'.repeat(32),
  }
  const ended = await gatehook({ cwd: emptyFolder(t), env }, 'migrate')
  assertSentence(ended, 75, /ECONNREFUSED|refused/)
  assert.doesNotMatch(ended.stderr, /hunter2/)
})

const declarations: [title: string, text: string, sentence: RegExp][] = [
  ['syntax', "import { f } from 'gatehook'\nconst a = {{\n", /service\.ts:2: Unexpected token/],
  ['a missing name', "import { nope } from 'gatehook'\n", /service\.ts:1: .*export named 'nope'/],
  ['a missing package', "import 'no-such-thing'\n", /no-such-thing.* Run npm install in /],
  ['a throw', "\n\nthrow new Error('not today')\n", /service\.ts:3: not today/],
  ['nothing exported', 'export const x = 1\n', /service\.ts exports no service\. Its last line/],
  [
    'members that plain JavaScript left out',
    "import { f, resource, service } from 'gatehook'\n\n" +
      "const notes = resource('notes', { fields: { id: f.id() }, list: {} })\n",
    /service\.ts:3: resource notes: access is .*\n.*: list\.filter is .*\n(.*\n)+.*: events is /,
  ],
  [
    'no resources',
    "import { service } from 'gatehook'\nexport const api = service({ name: 'a' })\n",
    /service\.ts:2: service: versions is required, .*\n.*: resources is required: an array/,
  ],
  [
    'a state that does not exist',
    "import { f, resource } from 'gatehook'\n\n" +
      "const status = f.oneOf(['open', 'shut']).default('open')\nresource('doors', {\n" +
      '  fields: { id: f.id(), status }, list: { filter: [], sort: [] }, events: [],\n' +
      "  access: { read: 'doors:read', create: false, update: false, delete: false },\n})\n" +
      "  .action('open', { scope: 'doors:write', to: 'open' })\n" +
      "  .action('lock', { scope: 'doors:write', from: ['shut'], to: 'locked' })\n",
    /service\.ts:9: resource doors: \.action\(lock\): there is no state locked; the states are /,
  ],
  [
    'a contradiction',
    "import { resource, service } from 'gatehook'\n\nexport const a = service({\n" +
      "  name: 'a', versions: { v2: { released: '2026-06-01' }, v1: { released: 'soon' } },\n" +
      '  resources: [],\n})\n',
    /service\.ts:3: version v1: majors .*\n.*service\.ts:3: version v1: released/,
  ],
]

for (const [title, text, sentence] of declarations) {
  test(`a declaration with ${title} is reported with its file and line`, async (t) => {
    const cwd = emptyFolder(t)
    mkdirSync(join(cwd, 'api'))
    writeFileSync(join(cwd, 'api', 'service.ts'), text)
    const ended = await gatehook({ cwd }, 'start', 'api')
    assertSentence(ended, 78, sentence)
    assert.match(ended.stderr, /api\/service\.ts/)
    assert.equal(existsSync(join(cwd, 'data')), false)
  })
}

test('an error of a start is a line of its JSON log, that of a command a sentence', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'service.ts'), 'export const api = 1\n')
  const failures = [
    ['--database-url', 'mysql://x'],
    ['--port', 'none', '--host', ''],
    ['--port', '0'],
  ]
  for (const args of failures) {
    const { stderr, exit } = await gatehook({ cwd }, 'start', ...args)
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.ok(lines.length > 0, args.join(' '))
    for (const line of lines) {
      assert.deepEqual([line.level, line.exit], ['fatal', exit])
      assert.ok(Date.parse(line.time) > 0)
      assert.ok(line.msg.length > 10)
    }
  }
  const command = await gatehook({ cwd }, 'migrate', '--database-url', 'mysql://x')
  assert.match(command.stderr, /^error /)
})
