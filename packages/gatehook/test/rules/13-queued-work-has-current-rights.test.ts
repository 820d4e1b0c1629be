/**
 * §13: work that waits has no effect for a maker whose access has ended meanwhile. Each module that
 * enqueues work says why: a new one has to choose.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url))

const RIGHTS = {
  verified: 'the maker is verified when the work runs: `maker` of the mail',
  account: 'it informs the account about itself, at the stored address',
  customer: 'it has the rights of the customer or of the registration, whoever started it',
  irrevocable: 'it finishes what was committed and audited: a deletion, an erasure',
  engine: 'the engine causes it',
  queue: 'it passes on what others enqueue',
} as const

const MAKERS: Readonly<Record<string, keyof typeof RIGHTS>> = {
  'assembly/table-work.ts': 'engine',
  'declare/resources/job-input.ts': 'customer',
  'declare/resources/refills.ts': 'engine',
  'identity/people/account-mail.ts': 'account',
  'identity/people/credential-sync.ts': 'account',
  'identity/people/operator-invitation.ts': 'verified',
  'identity/people/own-password.ts': 'account',
  'identity/people/passkey-enrolment.ts': 'account',
  'identity/people/password-reset.ts': 'account',
  'operate/erasure/customer-deletion.ts': 'irrevocable',
  'operate/erasure/person-erasure.ts': 'irrevocable',
  'operate/monitoring/version-notices.ts': 'verified',
  'outbound/jobs/event-jobs.ts': 'engine',
  'outbound/webhooks/replays.ts': 'customer',
  'platform/jobs/queue.ts': 'queue',
  'platform/jobs/recurring.ts': 'engine',
  'platform/mail/outbox.ts': 'queue',
}

const ENQUEUES = /\benqueue(?:Job|Named|Unnamed)?\(\s*tx\b/

const sources = globSync('**/*.ts', { cwd: SOURCES })
  .filter((file) => !file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(SOURCES + file, 'utf8') }))

test('every module that enqueues work has a rule for the rights of its maker', () => {
  const enqueuing = sources.filter(({ text }) => ENQUEUES.test(text)).map(({ file }) => file)
  assert.deepEqual(enqueuing.toSorted(), Object.keys(MAKERS).toSorted())
})

test('mail of an administrator names its maker', () => {
  for (const { file, text } of sources) {
    const mails = text.match(/outbox\.enqueue\(tx,[^;]*?\)\n/gs) ?? []
    const isVerified = MAKERS[file] === 'verified'
    for (const mail of mails) assert.equal(/\bmaker\b/.test(mail), isVerified, file)
  }
})
