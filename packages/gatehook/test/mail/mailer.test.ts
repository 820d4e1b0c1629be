/** The mailer: at least once, by one node, with retries; the transports of files and SMTP. */
import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { databases, freshFolder, quietLog } from '../../../../test/rig/databases.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { runDueJobs } from '../../src/platform/jobs/due-jobs.ts'
import { policyOf } from '../../src/platform/jobs/job.ts'
import { createEnqueue } from '../../src/platform/jobs/queue.ts'
import { purgeJobs } from '../../src/platform/jobs/retention.ts'
import { NodeJobRunner } from '../../src/platform/jobs/runner.ts'
import { createFileTransport, MAIL_FILES_MAX } from '../../src/platform/mail/file-transport.ts'
import { createMailer } from '../../src/platform/mail/mailer.ts'
import {
  isMailAddress,
  isSender,
  type MailMessage,
  permanentError,
} from '../../src/platform/mail/message.ts'
import { createMailOutbox } from '../../src/platform/mail/outbox.ts'
import { smtp } from '../../src/platform/mail/smtp.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openSmtpServer } from './smtp-server.ts'

const MAIL = { to: 'ada@example.com', subject: 'Hello', text: 'A text' }
const START_MS = Date.UTC(2026, 0, 1)

/** Draws the middle of the random delays, and a different id (12 bytes) for each node. */
const random = {
  ...systemRandom(),
  bytes: (size: number) =>
    size === 12 ? systemRandom().bytes(size) : Buffer.alloc(size, Buffer.of(0x80, 0, 0, 0)),
}

function openMail(db: Database) {
  let nowMs = START_MS
  const clock = { now: () => nowMs, elapsedMs: () => nowMs }
  const enqueueJob = createEnqueue({ clock, random: systemRandom(), wake: () => {} })
  const outbox = createMailOutbox(enqueueJob)
  const sent: MailMessage[] = []
  let send = async (message: MailMessage) => void sent.push(message)
  const node = (templates = {}) => {
    const mailer = createMailer({
      db,
      clock,
      transport: { send: (message) => send(message) },
      from: 'no-reply@example.com',
      templates,
      mayStillMail: async () => true,
    })
    const findCustomer = async () => ({ id: 'default', deleting_since: null })
    const common = { db, clock, random, log: quietLog, findCustomer, enqueue: enqueueJob }
    const deps = { ...common, lane: 'mail' } as const
    const handlers = mailer.handlers.filter(({ kind }) => kind === 'mail')
    return {
      async sendDue() {
        const before = mailer.sentCount()
        const counts = await runDueJobs((nudge) => new NodeJobRunner({ ...deps, handlers, nudge }))
        for (const { outcome, count } of counts) figures[outcome] = (figures[outcome] ?? 0) + count
        return mailer.sentCount() - before
      },
    }
  }
  const figures: Record<string, number> = {}
  return {
    node,
    figures,
    sent,
    outbox,
    clock,
    enqueue: (payload: object = MAIL, kind = 'plain') =>
      db.write((tx) => outbox.enqueue(tx, kind, { scope: undefined, payload })),
    pass: (ms: number) => {
      nowMs += ms
    },
    use: (other: typeof send) => {
      send = other
    },
    rows: () => db.all(sql`SELECT state, attempt, error, input FROM gh_jobs ORDER BY id`),
  }
}

const eachDatabase = (name: string, body: (db: Database, t: TestContext) => Promise<void>) => {
  for (const database of databases) {
    test(`${name} [${database.name}]`, async (t) => body(await database.openMigrated(t), t))
  }
}

eachDatabase('a mail is sent once by several nodes, and its row is deleted', async (db) => {
  const { node, enqueue, sent, rows, figures } = openMail(db)
  const nodes = [node(), node(), node()]
  for (let n = 0; n < 12; n++) await enqueue({ ...MAIL, subject: `${n}` })
  const counts = await Promise.all(nodes.map((each) => each.sendDue()))
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    12,
  )
  const subjects = sent.map(({ subject }) => Number(subject)).toSorted((a, b) => a - b)
  assert.deepEqual(subjects, [...Array(12).keys()])
  assert.deepEqual(figures, { done: 12 })
  assert.deepEqual(await rows(), [])
})

eachDatabase('a transaction that rolls back sends nothing', async (db) => {
  const { node, outbox, sent } = openMail(db)
  const failed = db.write(async (tx) => {
    await outbox.enqueue(tx, 'plain', { scope: undefined, payload: MAIL })
    throw new Error('undone')
  })
  await assert.rejects(failed, /undone/)
  assert.equal(await node().sendDue(), 0)
  assert.deepEqual(sent, [])
})

eachDatabase('a mail is retried with growing delays, 8 attempts in all', async (db) => {
  const { node, enqueue, pass, use, rows, sent, clock, figures } = openMail(db)
  const mailer = node()
  let attempts = 0
  use(async () => {
    attempts++
    throw new Error('450 try\r\nlater')
  })
  await enqueue()
  for (let n = 1; n <= 8; n++) {
    await mailer.sendDue()
    assert.equal(attempts, n)
    if (n === 8) break
    pass(delayMs(n) - 1)
    await mailer.sendDue()
    assert.equal(attempts, n, 'before the delay has passed')
    pass(1)
  }
  assert.deepEqual(figures, { retried: 7, failed: 1 })
  const failed = { state: 'failed', attempt: 8, error: '450 try later', input: '{}' }
  assert.deepEqual(await rows(), [failed])
  pass(7 * 86_400_000 - 1)
  assert.equal(await purgeJobs(db, clock), 0)
  pass(1)
  assert.equal(await purgeJobs(db, clock), 1)
  assert.deepEqual([await rows(), sent, attempts], [[], [], 8])
})

const delayMs = (attempt: number): number => policyOf('mail').retryDelayMs(attempt, 0.5)

test('delays grow from 30 s to 2 h', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map(delayMs)
  assert.deepEqual(
    delays.map((ms) => ms / 1000),
    [30, 120, 480, 1920, 7200, 7200, 7200],
  )
})

eachDatabase('a permanent error is not retried', async (db) => {
  const { node, enqueue, use, rows, figures } = openMail(db)
  use(async () => {
    throw permanentError('550 no such mailbox')
  })
  await enqueue()
  const mailer = node()
  await mailer.sendDue()
  const [row] = await rows()
  assert.deepEqual([row?.state, row?.attempt], ['failed', 1])
  assert.deepEqual(figures, { failed: 1 })
})

eachDatabase('a template that has nothing to say removes the mail', async (db) => {
  const { node, enqueue, rows, sent } = openMail(db)
  await enqueue({}, 'silent')
  assert.equal(await node({ silent: async () => undefined }).sendDue(), 0)
  assert.deepEqual([await rows(), sent], [[], []])
})

eachDatabase('a mail with a second header or recipient is never sent', async (db) => {
  const { node, enqueue, rows, sent } = openMail(db)
  await enqueue({ ...MAIL, subject: 'Hello\r\nBcc: eve@example.com' })
  await enqueue({ ...MAIL, to: 'ada@example.com, eve@example.com' })
  assert.equal(await node().sendDue(), 0)
  const states = (await rows()).map(({ state }) => state)
  assert.deepEqual([states, sent], [['failed', 'failed'], []])
})

eachDatabase('a large mail is rejected', async (db) => {
  const { outbox } = openMail(db)
  const large = { ...MAIL, text: 'x'.repeat(20_000) }
  await assert.rejects(
    db.write((tx) => outbox.enqueue(tx, 'plain', { scope: undefined, payload: large })),
    ({ code }: { code?: string }) => code === 'payload_too_large',
  )
})

test('an address is one mailbox without separators or control characters', () => {
  for (const text of ['a@b', 'ada+x@example.com', "o'hara@example.co.uk", 'jörg@bü.example']) {
    assert.ok(isMailAddress(text), text)
  }
  const separators = 'a|@b|a@|a b@c|a@b c|a@b@c|a,b@c|a;b@c|<a@b>|"a"@b'.split('|')
  const others = ['a@b.', 'a@.b', 'a@b..c', 'a\u0000@b', 'a@b\n', `a@${'b'.repeat(253)}`]
  for (const text of [...separators, ...others, `${'a'.repeat(65)}@b`]) {
    assert.ok(!isMailAddress(text), JSON.stringify(text))
  }
  assert.ok(isSender('Example & Sons <no-reply@example.com>'))
  for (const text of ['A, B <a@b>', 'A\r\nBcc: x <a@b>', 'A <a@b>, <c@d>', 'A <a>']) {
    assert.ok(!isSender(text), text)
  }
})

const MESSAGE = { ...MAIL, id: 'mail_1', from: 'Example <no-reply@example.com>' }

test('files are private, and the oldest are deleted', async () => {
  const folder = join(await freshFolder(), 'data', 'mail')
  const { send } = createFileTransport(folder)
  const idOf = (n: number) => `mail_${String(n).padStart(4, '0')}`
  for (let n = 0; n <= MAIL_FILES_MAX; n++) await send({ ...MESSAGE, id: idOf(n) })
  const files = (await readdir(folder)).toSorted()
  assert.deepEqual([files.length, files[0]], [MAIL_FILES_MAX, `${idOf(1)}.eml`])
  const file = join(folder, files[0]!)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const text = await readFile(file, 'utf8')
  assert.match(text, /^From: Example <no-reply@example\.com>\r?$/m)
  assert.match(text, /^To: ada@example\.com\r?$/m)
  assert.match(text, /^Message-ID: <mail_0001@example\.com>\r?$/m)
  assert.match(text, /^Auto-Submitted: auto-generated\r?$/m)
})

test('SMTP: the server receives one recipient and the text', async (t) => {
  const { url, received } = await openSmtpServer(t)
  await smtp(url).send(MESSAGE)
  const commands = received.filter((line) => /^(MAIL|RCPT)/.test(line))
  assert.deepEqual(
    commands.map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['MAIL FROM:<no-reply@example.com>', 'RCPT TO:<ada@example.com>'],
  )
  assert.ok(received.includes('Subject: Hello') && received.includes('A text'))
})

test('SMTP: an unknown mailbox is permanent, a busy one is not', async (t) => {
  const table = [
    ['550 no such mailbox', true],
    ['450 busy', undefined],
  ] as const
  for (const [reply, isPermanent] of table) {
    const { url } = await openSmtpServer(t, reply)
    await assert.rejects(smtp(url).send(MESSAGE), (error: { isPermanent?: boolean }) => {
      assert.equal(error.isPermanent, isPermanent, reply)
      return true
    })
  }
})

test('SMTP: the URL is validated, and an error never has the password', () => {
  for (const url of ['https://me:geheim@example.com', 'smtp://', 'geheim', undefined]) {
    assert.throws(
      () => smtp(url as string),
      (error: Error) => /smtps:\/\//.test(error.message) && !/geheim/.test(error.message),
    )
  }
})
