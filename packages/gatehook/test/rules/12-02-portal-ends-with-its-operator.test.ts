/** §12.2: links and sessions of the portal end with the access of their operator. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { endOperatorSession } from '../../src/identity/people/operator-sessions.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
  setOperatorPassword,
  setOperatorRole,
} from '../../src/identity/people/operators.ts'
import { resetSecondFactor } from '../../src/identity/people/second-factor.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { CAN, cookieOf, openPortal, tokenOf } from '../portal/rig.ts'

const actor = { kind: 'cli', id: 'test' } as const
const password = 'correct horse battery'

eachService(
  'links and sessions of the portal end with their operator, and those of others stay',
  async (service) => {
    const { administration, hasher } = service.app
    const { anonymous, customer, withCookieOf, session } = await openPortal(service)
    const of = await customer('Shop')
    const open = async (email: string) => {
      await createOperator(administration, hasher, { email, password }, actor)
      const { path } = await createConsoleLink(administration, email, actor)
      const signIn = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
      const headers = { cookie: cookieOf(signIn), 'x-gatehook-console': '1' }
      const token = async () => {
        const body = { customer: of, mode: 'live', can: CAN }
        return tokenOf(await anonymous.post('/admin/portal-links', body, headers))
      }
      const opened = await anonymous.post('/portal/session', { token: await token() })
      assert.equal(opened.status, 201, opened.text)
      return { email, unused: await token(), portal: withCookieOf(opened) }
    }
    const disabled = await open('disabled@example.com')
    const renewed = await open('renewed@example.com')
    const demoted = await open('demoted@example.com')
    const reset = await open('reset@example.com')
    const ended = await open('ended@example.com')
    const other = await open('other@example.com')
    const ofKey = await session(of)
    await setOperatorDisabled(administration, disabled.email, true, actor)
    await setOperatorDisabled(administration, disabled.email, false, actor)
    const next = { password: 'another horse battery' }
    await setOperatorPassword(administration, hasher, renewed.email, next, actor)
    await setOperatorRole(administration, demoted.email, { role: 'support' }, actor)
    await resetSecondFactor(administration, reset.email, actor)
    const sessions = sql`SELECT s.id FROM gh_console_sessions s
      JOIN gh_operators o ON o.id = s.operator WHERE o.email = ${ended.email}`
    const [endedSession] = await service.app.db.all<{ id: string }>(sessions)
    await endOperatorSession(administration, endedSession!.id, actor)
    await setOperatorRole(administration, other.email, { role: 'administrator' }, actor)
    for (const { unused, portal, email } of [disabled, renewed, demoted, reset, ended]) {
      assert.equal((await portal.get('/portal/session')).status, 401, email)
      assert.equal((await anonymous.post('/portal/session', { token: unused })).status, 401, email)
    }
    assert.equal((await other.portal.get('/portal/session')).status, 200)
    assert.equal((await anonymous.post('/portal/session', { token: other.unused })).status, 201)
    assert.equal((await ofKey.get('/portal/session')).status, 200)
  },
)

eachService('the links of a session of a first link end with it', async (service) => {
  const { administration } = service.app
  const { anonymous, customer, withCookieOf } = await openPortal(service)
  const of = await customer('Shop')
  const ends = {
    'by an administrator': async () => {
      const sessions = sql`SELECT id FROM gh_console_sessions WHERE operator IS NULL`
      const [session] = await service.app.db.all<{ id: string }>(sessions)
      await endOperatorSession(administration, session!.id, actor)
    },
    'by its own sign-out': async (headers: Record<string, string>) => {
      const signedOut = await anonymous.delete('/console/session', headers)
      assert.equal(signedOut.status, 204, signedOut.text)
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    const { path } = await createConsoleLink(administration, undefined, actor)
    const signIn = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
    const headers = { cookie: cookieOf(signIn), 'x-gatehook-console': '1' }
    const body = { customer: of, mode: 'live', can: CAN }
    const token = tokenOf(await anonymous.post('/admin/portal-links', body, headers))
    const portal = withCookieOf(await anonymous.post('/portal/session', { token }))
    assert.equal((await portal.get('/portal/session')).status, 200, name)
    await end(headers)
    assert.equal((await portal.get('/portal/session')).status, 401, name)
  }
})
