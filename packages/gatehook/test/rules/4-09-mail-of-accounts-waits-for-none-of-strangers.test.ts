/** §4.9, §4.10: no mail that a client without an account causes delays or displaces that of one. */
import assert from 'node:assert/strict'
import { sql } from '../../src/platform/storage/sql.ts'
import { eachMailService, type Inbox } from '../people/mail-rig.ts'
import { bearerOf, emailOf, PASSWORD } from '../people/rig.ts'

const UNKNOWN = 'unknown@example.com'
const KNOWN = emailOf('ada')

/** Each request for mail, and the kind of the job that sends it. */
const requests: readonly [path: string, body: object, job: string][] = [
  ['/auth/signup', { name: 'Eve', email: UNKNOWN }, 'stranger_mail'],
  ['/auth/signup', { name: 'Eve', email: KNOWN }, 'stranger_mail'],
  ['/auth/email/resend', { email: UNKNOWN }, 'stranger_mail'],
  ['/auth/email/resend', { email: KNOWN }, 'stranger_mail'],
  ['/auth/password/forgot', { email: UNKNOWN }, 'stranger_mail'],
  ['/auth/password/forgot', { email: KNOWN }, 'mail'],
  ['/auth/username', { username: UNKNOWN, password: PASSWORD }, 'mail'],
]

async function openAccount({ createPerson, token }: Inbox) {
  await createPerson('ada')
  return bearerOf(await token(KNOWN))
}

eachMailService('a job of its own kind sends the mail of strangers', async (rig) => {
  const { anonymous, service, inbox } = rig
  const headers = await openAccount(rig)
  for (const [path, body, kind] of requests) {
    const sent = await anonymous.post(path, body, path === '/auth/username' ? headers : {})
    assert.equal(sent.status, 202, sent.text)
    const jobs = await service.app.db.all(
      sql`SELECT kind, lane, caller, caller_group % 2 AS person FROM gh_jobs
        WHERE lane IN ('mail', 'stranger_mail')`,
    )
    assert.deepEqual(
      jobs.map((job) => [job.kind, job.lane, Number(job.person)]),
      [[kind, kind, 1]],
      path,
    )
    const caller = path === '/auth/username' ? /"person"/ : /^address /
    assert.match(String(jobs[0]!.caller), caller, path)
    await inbox.receive()
  }
})

for (const full of ['mail', 'stranger_mail']) {
  eachMailService(`responses of a full queue do not show accounts: ${full}`, async (rig) => {
    const { anonymous, service, inbox } = rig
    const headers = await openAccount(rig)
    await inbox.receive()
    await service.app.db.write((tx) =>
      tx.run(sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO gh_jobs (id, kind, lane, name, input, run_at, created_at)
        SELECT 'job_' || i, ${full}, ${full}, 'plain', '{}', 0, 0 FROM n`),
    )
    for (const [path, body] of requests) {
      const sent = await anonymous.post(path, body, path === '/auth/username' ? headers : {})
      const isOfStranger = path === '/auth/signup' || path === '/auth/email/resend'
      assert.equal(sent.status, isOfStranger === (full === 'stranger_mail') ? 503 : 202, path)
    }
  })
}
