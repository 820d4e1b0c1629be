/** The metrics that alerts read: readiness, disk, backup; and what remains without a database. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { unawaited } from '../../src/kernel/unawaited.ts'
import { readCertificateEnd, readDiskSpace } from '../../src/operate/system/machine-facts.ts'
import { recordBackup } from '../../src/platform/storage/backup-state.ts'

/** Returns the value of a series; undefined if there is none. */
async function readSeries({ as }: TestApp, series: string): Promise<number | undefined> {
  const { status, text } = await as(undefined).get('/metrics')
  assert.equal(status, 200)
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

eachService('the age of the backup begins with the last one', async (service) => {
  const { db } = service.app
  const age = () => readSeries(service, 'gatehook_backup_age_seconds')
  const first = await age()
  if (db.name === 'sqlite') assert.ok(first! >= 0 && first! < 3600, 'since its creation')
  else assert.equal(first, undefined, 'other tools back up PostgreSQL')
  await db.write((tx) => recordBackup(tx, Date.now() - 7_200_000))
  const later = (await age())!
  assert.ok(later >= 7200 && later < 7300, String(later))
})

eachService('a rejection that no code awaits is a metric and a warning', async (service) => {
  const count = () => readSeries(service, 'gatehook_unawaited_rejections_total')
  const before = (await count())!
  unawaited.note(new Error('of a loop'))
  assert.equal(await count(), before + 1)
  const { status, body } = await service.as(undefined).get('/readyz')
  assert.equal(status, 200)
  const warned = body.warnings?.map(({ check }: { check: string }) => check)
  assert.ok(warned?.includes('rejections'), JSON.stringify(body))
})

eachService('readiness is a metric, by check', async (service) => {
  const { db } = service.app
  assert.equal(await readSeries(service, 'gatehook_ready{for="write"}'), 1)
  assert.equal(await readSeries(service, 'gatehook_check_failed{check="writes"}'), 0)
  assert.equal(await readSeries(service, 'gatehook_check_failed{check="draining"}'), 0)
  const free = await readSeries(service, 'gatehook_disk_free_bytes')
  if (db.name === 'sqlite') assert.ok(free! > 0)
  else assert.equal(free, undefined)
})

eachService(
  'figures that no database answers are absent, and the others remain',
  async (service) => {
    const unavailable = () => Promise.reject(new Failure('storage_unavailable'))
    Object.assign(service.app.db, { get: unavailable, all: unavailable })
    assert.equal(await readSeries(service, 'gatehook_backup_age_seconds'), undefined)
    assert.equal(await readSeries(service, 'gatehook_check_failed{check="database"}'), 1)
    assert.equal(await readSeries(service, 'gatehook_ready{for="read"}'), 0)
  },
)

test('a certificate and a disk are read, and unreadable ones are absent', (t) => {
  const folder = emptyFolder(t)
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', '10']
  const files = ['-keyout', key, '-out', cert, '-nodes']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...files, ...subject], {
    stdio: 'ignore',
  })
  const days = (readCertificateEnd(cert)! - Date.now()) / 86_400_000
  assert.ok(days > 9 && days <= 10, String(days))
  assert.equal(readCertificateEnd(key), undefined)
  assert.equal(readCertificateEnd(join(folder, 'none')), undefined)
  assert.equal(readCertificateEnd(undefined), undefined)
  const { freeBytes, sizeBytes } = readDiskSpace(folder)!
  assert.ok(freeBytes > 0 && freeBytes <= sizeBytes)
  assert.equal(readDiskSpace(join(folder, 'none')), undefined)
})
