/** The mail of a service by its transport: SMTP, files by default, and what `doctor` reports. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { checkMail } from '../../src/cli/doctor-checks.ts'
import { smtp } from '../../src/gatehook.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { permanentError } from '../../src/platform/mail/message.ts'
import { PASSWORD } from '../people/rig.ts'
import { openSmtpServer } from './smtp-server.ts'

const ADA = { name: 'Ada', email: 'ada@example.com' }
const SENDER = { from: 'Example <no-reply@example.com>' }

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a stranger signs up by a mail that SMTP delivers [${kind}]`, async (t) => {
    const { url, received } = await openSmtpServer(t)
    const service = await openService(t, kind, { service: api.mail(smtp(url), SENDER) })
    const anonymous = service.as(undefined)
    assert.equal((await anonymous.post('/auth/signup', ADA)).status, 202)
    assert.equal(await service.app.mail.sendDue(), 1)
    assert.ok(received.includes('RCPT TO:<ada@example.com>'))
    const token = received.find((line) => /^[\w-]{43}$/.test(line))
    const verified = await anonymous.post('/auth/email/verify', { token, password: PASSWORD })
    assert.equal(verified.status, 204, verified.text)
    const login = { username: ADA.email, password: PASSWORD }
    assert.equal((await anonymous.post('/auth/login', login)).status, 200)
    assert.equal(await service.app.mail.sendDue(), 0)
  })
}

test('without a transport, mail is a file in the data folder', async (t) => {
  const service = await openService(t, 'sqlite')
  const folder = join(dirname(service.url.slice('sqlite:'.length)), 'mail')
  const sent = new Set(await readdir(folder).catch(() => []))
  assert.equal((await service.as(undefined).post('/auth/signup', ADA)).status, 202)
  assert.equal(await service.app.mail.sendDue(), 1)
  const [file, ...others] = (await readdir(folder)).filter((name) => !sent.has(name))
  assert.deepEqual(others, [])
  assert.match(await readFile(join(folder, file!), 'utf8'), /^To: ada@example\.com\r?$/m)
})

let failure: Error | undefined
const transport = {
  async send() {
    if (failure) throw failure
  },
}

eachService(
  'doctor names the transport, and mail that waits or failed',
  async ({ app: { db, mail }, url, as }) => {
    const config = loadConfig({ GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: 'x'.repeat(40) })
    const declared = api.mail(transport, SENDER)
    const ok = { state: 'ok', detail: 'the transport of the service' }
    assert.deepEqual(await checkMail(config, declared, undefined), ok)
    assert.deepEqual(await checkMail(config, declared, db), ok)
    assert.match((await checkMail(config, api, db)).detail, /^files in .*mail$/)
    const anonymous = as(undefined)
    await anonymous.post('/auth/signup', ADA)
    const waiting = await checkMail(config, declared, db)
    assert.deepEqual(waiting, { ...ok, detail: `${ok.detail}; 1 waiting` })
    failure = permanentError('550 no such mailbox')
    await mail.sendDue()
    failure = undefined
    const failed = await checkMail(config, declared, db)
    assert.equal(failed.state, 'warn')
    assert.equal(failed.detail, `${ok.detail}; 0 waiting, 1 failed: 550 no such mailbox`)
    await anonymous.post('/auth/signup', { ...ADA, email: 'eve@example.com' })
    assert.equal(await mail.sendDue(), 1)
  },
  { service: api.mail(transport, SENDER) },
)
