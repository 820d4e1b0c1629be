/**
 * §18.11: the export of a person has no data of other callers that requested its row, and that of
 * a customer none of operators who worked for it.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { letterbox } from '../fixtures/letters.ts'
import { cookieOf } from '../portal/rig.ts'

const EMAIL = 'ops-kanary@operators.example'

/** Signs an operator in; returns its id and the headers of its requests. */
async function openOperator({ app, as }: TestApp) {
  const actor = { kind: 'cli', id: 'test' } as const
  const { administration, hasher } = app
  const operator = { email: EMAIL, password: 'correct horse battery' }
  const { id } = await createOperator(administration, hasher, operator, actor)
  const { path } = await createConsoleLink(administration, EMAIL, actor)
  const signIn = await as(undefined).post('/console/session', { token: path.split('#token=')[1] })
  assert.equal(signIn.status, 201, signIn.text)
  const headers = {
    cookie: cookieOf(signIn),
    'x-gatehook-console': '1',
    'user-agent': 'kanary agent',
    referer: 'https://intranet.example/kanary',
  }
  return { id: String(id), headers }
}

eachService(
  'exports say nothing about other callers and operators',
  async (service) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const anonymous = service.as(undefined)
    const { id: customer } = (await admin.post('/admin/customers', { name: 'Acme' })).body
    const other = service.as(await service.key({ customer, mode: 'live', name: 'kanary key' }))
    const address = { email: 'ann@members.example', profile: { city: 'Bath' } }
    const member = { given_name: 'Ann', interests: [], ...address }
    const { body: ann } = await other.post('/api/v2/members', member)
    const path = `/api/v2/members/${ann.id}`
    const headers = { 'user-agent': 'kanary agent', referer: 'https://intranet.example/kanary' }
    await other.send('GET', `${path}?kanary=search`, undefined, headers)
    await other.send('PATCH', path, { plan: 7, kanary: 'typed' }, headers)

    const operator = await openOperator(service)
    const acting = `/admin/as/${customer}/live`
    await anonymous.send('GET', `${acting}${path}?kanary=1`, undefined, operator.headers)
    await anonymous.send('PATCH', `${acting}${path}`, { plan: 7, kanary: 1 }, operator.headers)
    const link = { customer, mode: 'live', can: ['letters:read'] }
    const created = await anonymous.post('/admin/portal-links', link, operator.headers)
    assert.equal(created.status, 201, created.text)
    await admin.get('/admin/requests') // writes the log of requests

    const ofPerson = (await admin.get(`/admin/users/${ann.id}/export`)).text
    assert.match(ofPerson, /"gh_monitoring_requests".*"method":"PATCH"/)
    assert.doesNotMatch(ofPerson, /kanary/)
    const ofCustomer = (await admin.get(`/admin/customers/${customer}/export`)).text
    assert.match(ofCustomer, /"gh_portal_links"/)
    assert.match(ofCustomer, /"gh_monitoring_requests".*"kind":"admin"/)
    assert.match(ofCustomer, /kanary key/, 'the own requests of the customer')
    const ofOperators = ofCustomer.split('\n').filter((line) => !line.includes('kanary key'))
    assert.doesNotMatch(ofOperators.join('\n'), /kanary agent|intranet/)
    for (const text of [EMAIL, operator.id]) assert.ok(!ofCustomer.includes(text), text)
  },
  { service: letterbox, env: { GATEHOOK_REQUEST_LOG_BODIES: 'errors' } },
)
