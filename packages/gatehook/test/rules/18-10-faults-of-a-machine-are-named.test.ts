/**
 * §18.10: readiness, attention and metrics name faults of the machine of a node: a log that is not
 * written, files of the certificate that cannot be loaded, password hashes that lack the CPU.
 */
import assert from 'node:assert/strict'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { createHashPace, HASH_PATIENCE_MS, hashPace } from '../../src/identity/people/hash-pace.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createOutputState, outputState } from '../../src/kernel/output-state.ts'
import { createInodeCheck, readInodes } from '../../src/operate/system/inodes.ts'
import { createLogOutput } from '../../src/operate/system/log-output.ts'
import {
  createOpenFileCheck,
  describeOpenFiles,
  readOpenFiles,
} from '../../src/operate/system/open-files.ts'
import { createPasswordHashes } from '../../src/operate/system/password-hashes.ts'
import { createTlsFileCheck } from '../../src/operate/system/tls-files.ts'
import type { Metric } from '../../src/platform/telemetry/metric.ts'
import { adminOf } from '../monitoring/admin.ts'

const readAll = async (metrics: readonly Metric[]) =>
  Promise.all(metrics.map(async ({ name, read }) => [name, (await read())[0]?.value]))

const remedies: readonly (readonly [code: string, remedy: RegExp])[] = [
  ['ENOSPC', /disk is full: free space/],
  ['EDQUOT', /disk is full: free space/],
  ['EFBIG', /rotate it, or raise ulimit -f/],
  ['EIO', /replace the disk/],
  ['EPIPE', /has ended: restart the node/],
  ['EBADF', /Its write fails: EBADF/],
]

for (const [code, remedy] of remedies) {
  test(`a log whose write fails with ${code} is named with its remedy`, () => {
    const state = createOutputState({ elapsedMs: () => 0 })
    const { warning } = createLogOutput(state)
    assert.equal(warning(), undefined)
    state.pass(1)
    state.noteError(code)
    assert.match(String(warning()), /^The log of this node is not written\. /)
    assert.match(String(warning()), remedy)
  })
}

test('a log that no program reads is named, and its lines are metrics', async () => {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const state = createOutputState(clock)
  const { warning, metrics } = createLogOutput(state)
  state.pass(7)
  clock.ms += 10_000
  assert.match(String(warning()), /does not read, or too slowly: restart that program/)
  state.pass(2)
  state.drop(2)
  assert.deepEqual(await readAll(metrics), [
    ['gatehook_log_failing', 1],
    ['gatehook_log_lines_waiting', 7],
    ['gatehook_log_lines_dropped_total', 2],
  ])
})

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

function copyPair(t: TestContext) {
  const folder = emptyFolder(t)
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  copyFileSync(fixture('first.crt'), files.certFile)
  copyFileSync(fixture('first.key'), files.keyFile)
  return files
}

type Files = ReturnType<typeof copyPair>

const tlsFaults: Readonly<Record<string, [break_: (files: Files) => void, sentence: RegExp]>> = {
  'no certificate': [
    ({ certFile }) => rmSync(certFile),
    /^GATEHOOK_TLS_CERT: .*tls\.crt cannot be read: there is no such file\. /,
  ],
  'no key': [
    ({ keyFile }) => rmSync(keyFile),
    /^GATEHOOK_TLS_KEY: .*tls\.key cannot be read: there is no such file\. /,
  ],
  'half a certificate': [
    ({ certFile }) => writeFileSync(certFile, '-----BEGIN CERTIFICATE-----\nMII'),
    /^GATEHOOK_TLS_CERT: .*tls\.crt is no certificate in PEM\. /,
  ],
  'an empty key': [
    ({ keyFile }) => writeFileSync(keyFile, ''),
    /^GATEHOOK_TLS_KEY: .*tls\.key is no private key without a passphrase in PEM\. /,
  ],
  'a key of another certificate': [
    ({ keyFile }) => copyFileSync(fixture('second.key'), keyFile),
    /^The key .*tls\.key \(GATEHOOK_TLS_KEY\) is not that of the certificate .*tls\.crt\. /,
  ],
}

for (const [name, [breakFiles, sentence]] of Object.entries(tlsFaults)) {
  test(`TLS files with ${name} are named until they can be loaded`, async (t) => {
    const files = copyPair(t)
    const clock = { ms: 0, elapsedMs: () => clock.ms }
    const { warning, metrics } = createTlsFileCheck(files, { clock, log: quietLog })
    assert.equal(await warning(), undefined)
    breakFiles(files)
    clock.ms += 5_000
    const result = await warning()
    assert.ok(typeof result === 'object')
    assert.match(result.detail, sentence)
    assert.ok(!result.message.includes(files.certFile), 'a path is for operators')
    assert.deepEqual(await readAll(metrics), [['gatehook_tls_files_invalid', 1]])
    copyFileSync(fixture('second.crt'), files.certFile)
    copyFileSync(fixture('second.key'), files.keyFile)
    clock.ms += 5_000
    assert.equal(await warning(), undefined)
    assert.deepEqual(await readAll(metrics), [['gatehook_tls_files_invalid', 0]])
  })
}

test('a disk with few inodes is named with its folder, until it has more', async () => {
  const state = { ms: 0, free: 100 }
  const lines: unknown[] = []
  const { warning, metrics } = createInodeCheck({
    folder: '/data',
    clock: { elapsedMs: () => state.ms },
    log: { warn: (line: unknown) => lines.push(line) } as unknown as Log,
    read: () => ({ free: state.free, total: 4_000 }),
  })
  const pass = (free: number) => {
    Object.assign(state, { free, ms: state.ms + 5_000 })
    return warning()
  }
  assert.equal(await warning(), undefined)
  const named = await pass(99)
  assert.ok(typeof named === 'object')
  assert.match(named.detail, /^The disk of \/data has 99 of its 4000 inodes left \(df -i\): /)
  assert.doesNotMatch(named.message, /\/data/, 'a path is for operators')
  assert.deepEqual(await pass(0), { ...named, detail: named.detail.replace('99', '0') })
  assert.deepEqual(lines, [named.detail], 'the log has it once')
  assert.deepEqual(await readAll(metrics), [
    ['gatehook_disk_free_inodes', 0],
    ['gatehook_disk_inodes', 4_000],
  ])
  assert.equal(await pass(100), undefined)
})

test('inodes of a folder are read, and unreadable ones are absent', (t) => {
  const folder = emptyFolder(t)
  const inodes = readInodes(folder)
  if (inodes) assert.ok(inodes.free > 0 && inodes.free <= inodes.total)
  assert.equal(readInodes(join(folder, 'none')), undefined)
  assert.equal(readInodes(undefined), undefined)
})

test('password hashes that wait for the CPU are named, with those that have it', async () => {
  const meters = { ms: 0, cpu: 0 }
  const pace = createHashPace({ elapsedMs: () => meters.ms, cpuMs: () => meters.cpu })
  const { warning, metrics } = createPasswordHashes(pace)
  assert.equal(warning(), undefined)
  const busy = pace.begin()
  meters.ms += 3_000
  meters.cpu += 3_000
  busy.end({ elapsedMs: 3_000, cpuMs: 30 })
  assert.match(String(warning()), /took 3\.0 s, and had the CPU for 0\.03 s .* add a core/)
  const starved = pace.begin()
  meters.ms += HASH_PATIENCE_MS
  assert.ok(starved.isStarving())
  assert.match(String(warning()), /other programs of this machine use/)
  meters.ms += 60_000
  assert.equal(warning(), undefined)
  assert.deepEqual(await readAll(metrics), [
    ['gatehook_password_hashes_total', 1],
    ['gatehook_password_hash_seconds_total', 3],
    ['gatehook_password_hash_cpu_seconds_total', 0.03],
  ])
})

test('a process that may open few further files is named, once in the log', async () => {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const lines: string[] = []
  const log = { warn: (text: string) => lines.push(text) } as unknown as Log
  let open: number | undefined = 1_843
  const read = () => ({ open, limit: 2_048 })
  const { warning, metrics } = createOpenFileCheck({ clock, log, read })
  assert.equal(warning(), undefined)
  for (open of [1_844, undefined]) {
    clock.ms += 5_000
    const count = open ?? 'all'
    assert.ok(String(warning()).startsWith(`This process has ${count} of its 2048 files`))
  }
  assert.equal(lines.length, 1)
  open = 1_844
  assert.deepEqual(await readAll(metrics), [
    ['process_open_fds', 1_844],
    ['process_max_fds', 2_048],
  ])
})

test('a process that may open few files at all is named before they are used up', () => {
  assert.match(
    describeOpenFiles({ open: 20, limit: 72 })!,
    /^This process may open 72 files and connections only, .* to 1024 or more\.$/,
  )
  assert.match(describeOpenFiles({ open: 66, limit: 72 })!, /^This process has 66 of its 72 files/)
  assert.equal(describeOpenFiles({ open: 20, limit: 1_024 }), undefined)
})

test('the open files of this process are counted', { skip: process.platform !== 'linux' }, () => {
  const { open, limit } = readOpenFiles()!
  assert.ok(open! > 2 && open! < limit)
})

eachService('faults of the machine are warnings of readiness, and need attention', async (s) => {
  const admin = await adminOf(s)
  const checksOf = (warnings: { check: string }[] = []) => warnings.map(({ check }) => check)
  const probe = async () => checksOf((await s.as(undefined).get('/readyz')).body.warnings)
  const named = ['log', 'passwords']
  const present = (checks: readonly string[]) => named.filter((name) => checks.includes(name))
  assert.deepEqual(present(await probe()), [])
  outputState.noteError('ENOSPC')
  hashPace.begin().end({ elapsedMs: 5_000, cpuMs: 30 })
  assert.deepEqual(present(await probe()), named)
  const { body } = await admin.get('/admin/attention')
  const items = body.data.filter(({ kind }: { kind: string }) => kind === 'node_warning')
  const attention = items.map(({ subject }: { subject: { id: string } }) => subject.id)
  assert.deepEqual(present(attention), named)
  outputState.noteDrain()
  hashPace.begin().end({ elapsedMs: 25, cpuMs: 25 })
  assert.deepEqual(present(await probe()), [])
})
