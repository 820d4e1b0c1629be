/** `gatehook backup` and `gatehook restore` (§2.8, §12.3). */
import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { canMount, mountSmallDisk } from '../../../../test/rig/small-disk.ts'
import { clientSentence, libpqAddress } from '../../src/cli/postgres-tools.ts'
import { createProgress, progressLine } from '../../src/cli/progress.ts'
import { findNewestEvent } from '../../src/history/events/store.ts'
import { backupSqlite, restoreSqlite } from '../../src/platform/storage/sqlite-backup.ts'
import { gatehook, installed, jsonOf } from './command.ts'
import { serving } from './process.ts'

const stamp = { createdAt: '2027-01-31T00:00:00.000Z', release: '0.1.0', findNewestEvent }
const user = (n: number) => ({ name: `User ${n}`, email: `user${n}@example.com` })

async function create(service: TestApp, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) {
    assert.equal((await service.post('/api/v2/users', user(n))).status, 201)
  }
}

async function backedUp(t: TestContext) {
  const folder = emptyFolder(t)
  const database = join(folder, 'source.db')
  const service = await openService(t, 'sqlite', { url: `sqlite:${database}` })
  await create(service, 0, 5)
  const file = join(folder, 'backup.gatehook')
  return { folder, database, service, file }
}

test('a backup is one snapshot while the service goes on writing', async (t) => {
  const { folder, database, service, file } = await backedUp(t)
  let writing: Promise<void> | undefined
  const manifest = await backupSqlite({
    database,
    file,
    ...stamp,
    onProgress: ({ step }) => {
      if (step === 'copy') writing ??= create(service, 5, 10)
    },
  })
  await writing
  assert.equal(manifest.tables.users, 5)
  const restored = join(folder, 'restored.db')
  await restoreSqlite({ file, database: restored })
  const copy = await openService(t, 'sqlite', { url: `sqlite:${restored}` })
  const { body } = await copy.get('/api/v2/users?page=1')
  assert.equal(body.data.length, 5)
  assert.equal((await service.get('/api/v2/users?page=1')).body.data.length, 10)
})

test('a backup is readable by its owner alone and holds no master secret', async (t) => {
  const folder = emptyFolder(t)
  const place = { cwd: folder }
  const { url, kill, ended } = await serving(t, place)
  assert.ok(url)
  const file = join(folder, 'b.gatehook')
  const report = await jsonOf(place, 'backup', file)
  kill('SIGTERM')
  await ended
  assert.equal(report.master_secret, 'not included')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const secret = readFileSync(join(folder, 'data', 'secret.key'), 'utf8').trim()
  const database = join(folder, 'plain.db')
  await restoreSqlite({ file, database })
  assert.ok(!readFileSync(database).includes(secret))
})

test('a backup names its database and the newest event', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const database = join(place.cwd, 'data', 'gatehook.db')
  await serving(t, place)
  const { newest_event, ...report } = await jsonOf(place, 'backup', 'b.gatehook')
  assert.equal(report.database, database)
  assert.match(newest_event.id, /^evt_/)
  const { stdout } = await gatehook(place, 'backup', 'c.gatehook')
  assert.match(stdout, new RegExp(`c\\.gatehook holds .* rows in .* tables of ${database}\\.\n`))
  assert.match(stdout, new RegExp(`The newest event is ${newest_event.id} \\S+ of 20`))
})

test('a backup of a database that no service has used fails, and writes no file', async (t) => {
  const place = await installed(t)
  const { exit, stderr } = await gatehook(place, 'backup', 'b.gatehook')
  assert.equal(exit, 1)
  assert.match(stderr, /No service has ever used \S+gatehook\.db\. Name the database/)
  assert.equal(existsSync(join(place.cwd, 'b.gatehook')), false)
})

test('only its owner can read the copy of a backup in progress', async (t) => {
  const { database, file } = await backedUp(t)
  const umask = process.umask(0)
  onEnd(t, () => process.umask(umask))
  const modes = new Set<number>()
  await backupSqlite({
    database,
    file,
    ...stamp,
    onProgress({ step }) {
      if (step === 'copy') modes.add(statSync(`${file}.copy`).mode & 0o777)
    },
  })
  assert.deepEqual([...modes], [0o600])
})

test('neither backup nor restore overwrites anything', async (t) => {
  const { folder, database, file } = await backedUp(t)
  await backupSqlite({ database, file, ...stamp })
  const before = readFileSync(file)
  await assert.rejects(backupSqlite({ database, file, ...stamp }), /overwrites nothing/)
  assert.deepEqual(readFileSync(file), before)
  await assert.rejects(restoreSqlite({ file, database }), /overwrites no installation/)
  const occupied = join(folder, 'occupied.db')
  writeFileSync(occupied, 'x')
  await assert.rejects(restoreSqlite({ file, database: occupied }), /overwrites no installation/)
  assert.equal(readFileSync(occupied, 'utf8'), 'x')
})

test('a backup that was changed or cut anywhere creates no database', async (t) => {
  const { folder, database, file } = await backedUp(t)
  await backupSqlite({ database, file, ...stamp })
  const whole = readFileSync(file)
  const header = whole.indexOf('\n') + 1
  const target = join(folder, 'target.db')
  const body = whole.length - header
  const places = Array.from(
    { length: 24 },
    (_, n) => header + 4 + Math.floor(((body - 5) * n) / 24),
  )
  const changed = places.map((at) => {
    const bytes = Buffer.from(whole)
    bytes[at]! ^= 0x55
    return bytes
  })
  const cut = [0, 1, header - 1, header, ...places, whole.length - 1].map((at) =>
    whole.subarray(0, at),
  )
  const otherCounts = Buffer.from(
    whole.toString('latin1').replace('"users":5', '"users":6'),
    'latin1',
  )
  const longer = Buffer.from(
    whole.toString('latin1').replace(/"bytes":[0-9]+/, '"bytes":4096'),
    'latin1',
  )
  for (const bytes of [...changed, ...cut, otherCounts, longer]) {
    const damaged = join(folder, 'damaged.gatehook')
    writeFileSync(damaged, bytes)
    await assert.rejects(restoreSqlite({ file: damaged, database: target }), /damaged|not a backup/)
    assert.equal(existsSync(target), false)
    assert.equal(existsSync(`${target}.restoring`), false)
  }
})

test('a restored installation serves once the master secret is in place', async (t) => {
  const place = await installed(t)
  const { key } = await jsonOf(place, 'keys', 'create', '--name', 'ops', '--scopes', 'users:read')
  const run = await serving(t, place, '--no-seed')
  const backup = join(place.cwd, 'b.gatehook')
  await jsonOf(place, 'backup', backup)
  run.kill('SIGTERM')
  await run.ended
  const elsewhere = { cwd: emptyFolder(t) }
  const lacking = await gatehook(elsewhere, 'restore', backup)
  assert.equal(lacking.exit, 0, lacking.stderr)
  assert.match(lacking.stdout, /Before the start: The master secret does not fit/)
  assert.equal((await gatehook(elsewhere, 'start', '--port', '0')).exit, 78)
  mkdirSync(join(elsewhere.cwd, 'data'), { recursive: true })
  cpSync(join(place.cwd, 'data', 'secret.key'), join(elsewhere.cwd, 'data', 'secret.key'))
  const doctor = JSON.parse((await gatehook(elsewhere, 'doctor', '--json')).stdout)
  const copy = doctor.checks.find(({ check }: { check: string }) => check === 'copy')
  assert.equal(copy.detail, 'restored from a backup, and not started since')
  assert.doesNotMatch(copy.hint, /cp|use gatehook backup/)
  const { url } = await serving(t, elsewhere)
  const response = await fetch(`${url}/api/v2/users`, { headers: { 'x-api-key': key } })
  assert.equal(response.status, 200)
})

test('a backup to a full disk says so, and leaves no file', {
  skip: !canMount() && 'mounting a disk needs root',
}, async (t) => {
  const place = { cwd: emptyFolder(t) }
  await serving(t, place)
  const disk = await mountSmallDisk(1)
  onEnd(t, disk.unmount)
  await disk.fill()
  const { exit, stderr } = await gatehook(place, 'backup', join(disk.folder, 'a.backup'))
  assert.equal(exit, 1)
  assert.match(stderr, /The disk of .*a\.backup is full\. Free space there/)
  assert.deepEqual(readdirSync(disk.folder), ['ballast'])
})

test('commands that cannot succeed say why and exit with 1', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const nothing = await gatehook(place, 'backup', 'b.gatehook')
  assert.deepEqual([nothing.exit, nothing.stdout], [1, ''])
  assert.match(nothing.stderr, /There is no database at/)
  writeFileSync(join(place.cwd, 'text'), 'no backup\n')
  for (const file of ['text', 'missing']) {
    const { exit, stderr } = await gatehook(place, 'restore', file)
    assert.equal(exit, 1)
    assert.match(stderr, /is not a backup of Gatehook|cannot be read: ENOENT/)
  }
  assert.equal(existsSync(join(place.cwd, 'data', 'gatehook.db')), false)
})

test('on PostgreSQL the command names pg_dump', async (t) => {
  const env = {
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    GATEHOOK_DATABASE_URL: await freshUrl(t, 'postgres'),
  }
  const { exit, stderr } = await gatehook({ cwd: emptyFolder(t), env }, 'backup', 'b.dump')
  assert.equal(exit, 1)
  assert.match(stderr, /pg_dump --format=custom --file=b\.dump 'postgres/)
})

test('the tools of PostgreSQL verify the server as Gatehook does, and use the primary', () => {
  const VERIFIED = 'sslmode=verify-full&sslrootcert=system'
  for (const [address, expected] of [
    ['postgres://u:p@127.0.0.1:5432/d', 'postgres://u@127.0.0.1:5432/d'],
    ['postgres:///d?host=/run/pg', 'postgres:///d?host=/run/pg'],
    ['postgres://u:p%27@db.example.com/d', `postgres://u@db.example.com/d?${VERIFIED}`],
    ['postgres://u@db/d?sslmode=require', `postgres://u@db/d?${VERIFIED}`],
    ['postgres://u@db/d?ssl=true', `postgres://u@db/d?${VERIFIED}`],
    ['postgres://u@db/d?sslmode=disable', 'postgres://u@db/d?sslmode=disable'],
    ['postgres://u@db/d?sslmode=no-verify', 'postgres://u@db/d?sslmode=require'],
    [
      'postgres://u@db/d?uselibpqcompat=true&sslmode=require&password=p&statement_timeout=9',
      'postgres://u@db/d?sslmode=require',
    ],
    [
      'postgres://u:p@a:5432,b:5433/d?sslrootcert=/etc/pg/ca.crt&options=-c%20jit%3Doff',
      'postgres://u@a:5432,b:5433/d?sslrootcert=/etc/pg/ca.crt&options=-c%20jit%3Doff' +
        '&sslmode=verify-full&target_session_attrs=read-write',
    ],
    [
      'postgres://u@a,b/d?sslmode=disable&target_session_attrs=any',
      'postgres://u@a,b/d?sslmode=disable',
    ],
  ] as const) {
    assert.equal(libpqAddress(address, 18), expected)
  }
  const old = libpqAddress('postgres://u@db/d', 15)
  assert.match(old, /sslmode=verify-full&sslrootcert=\/etc\/ssl\/certs\/ca-certificates\.crt$/)
})

test('the version of the PostgreSQL client is compared with the server', () => {
  assert.match(clientSentence('pg_dump', undefined, 18), /not installed here.*18 or newer/)
  assert.match(clientSentence('pg_dump', 15, 18), /version 15 and refuses.*version 18/)
  assert.match(clientSentence('pg_dump', 18, 18), /fits/)
})

test('progress is a line each second, with rows, rate and time left', () => {
  const lines: string[] = []
  let nowMs = 0
  const report = createProgress(
    { progress: (line) => lines.push(line) },
    { elapsedMs: () => nowMs },
  )
  for (const [atMs, fraction] of [
    [0, 0],
    [900, 0.2],
    [2_000, 0.5],
    [2_500, 0.6],
    [4_000, 1],
  ] as const) {
    nowMs = atMs
    report({ step: 'copy', fraction, rows: 2_400_000 })
  }
  assert.deepEqual(lines, [
    'copy: 1,200,000 of 2,400,000 rows (50 %), 600,000 rows/s, 2 s left',
    'copy: 2,400,000 of 2,400,000 rows (100 %), 600,000 rows/s',
  ])
  assert.equal(progressLine({ step: 'copy', fraction: 0, rows: 0 }, 0), 'copy: 0 of 0 rows (0 %)')
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a backup of another tool is recorded with its time, for doctor [${kind}]`, async (t) => {
    const folder = emptyFolder(t)
    const url =
      kind === 'sqlite' ? `sqlite:${join(folder, 'gatehook.db')}` : await freshUrl(t, kind)
    const env = {
      GATEHOOK_DATABASE_URL: url,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    }
    const place = { cwd: emptyFolder(t), env }
    const file = join(place.cwd, 'tonight.dump')
    const record = () => gatehook(place, 'backup', '--record', file)
    const missing = await record()
    assert.deepEqual([missing.exit, /There is no backup at/.test(missing.stderr)], [1, true])
    writeFileSync(file, '')
    assert.equal((await record()).exit, 1, 'an empty file is no backup')
    writeFileSync(file, 'rows')
    const early = await record()
    assert.deepEqual([early.exit, /There is no /.test(early.stderr)], [1, true], early.stderr)
    assert.equal(existsSync(join(folder, 'gatehook.db')), false, 'no database is created')

    await jsonOf(place, 'migrate')
    const backupOf = async () => {
      const { stdout } = await gatehook(place, 'doctor', '--json')
      const { checks } = JSON.parse(stdout)
      return checks.find(({ check }: { check: string }) => check === 'backup')
    }
    assert.equal((await backupOf()).state, 'ok')
    for (const [ageHours, state] of [
      [25, 'ok'],
      [27, 'warn'],
    ] as const) {
      const at = new Date(Date.now() - ageHours * 3_600_000)
      utimesSync(file, at, at)
      assert.equal((await record()).exit, 0)
      const backup = await backupOf()
      assert.equal(backup.state, state)
      assert.ok(backup.detail.includes(at.toISOString().slice(0, 19)), backup.detail)
    }
  })
}
