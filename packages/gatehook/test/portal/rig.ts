/** Opens the portal of a customer by a link, or as a person. */
import assert from 'node:assert/strict'
import type { Caller, Reply, TestApp } from '../../../../test/rig/service.ts'

export const OWN = { 'x-gatehook-portal': '1' }

/** The scopes of the links of most tests. */
export const CAN = [
  'keys:read',
  'keys:write',
  'webhooks:read',
  'webhooks:write',
  'events:read',
  'orders:read',
  'users:read',
]

export interface PortalRig {
  /** Sends the key of an administrator. */
  readonly operator: Caller
  /** Sends no credential. */
  readonly anonymous: Caller
  customer(name: string): Promise<string>
  /** Creates a link, for live mode unless `members` name another; returns its token. */
  token(customer: string, members?: Record<string, unknown>): Promise<string>
  /** Opens a session by a new link and returns a caller with its cookie. */
  session(customer: string, members?: Record<string, unknown>): Promise<Caller>
  /** Returns a caller with the cookie of a response. */
  withCookieOf(reply: Reply): Caller
}

export const tokenOf = (reply: Reply): string => reply.body.url.split('#token=')[1]

/** Returns `name=value` of the first cookie that a response sets. */
export const cookieOf = ({ headers }: Reply): string =>
  String([headers['set-cookie']].flat()[0]).split(';')[0]!

export async function openPortal(service: TestApp): Promise<PortalRig> {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const anonymous = service.as(undefined)
  const created = async (path: string, body: unknown): Promise<Reply> => {
    const reply = await operator.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply
  }
  const withCookieOf = (reply: Reply): Caller => {
    const headers = { ...OWN, cookie: cookieOf(reply) }
    const send: Caller['send'] = (method, path, body, more = {}) =>
      anonymous.send(method, path, body, { ...headers, ...more })
    return {
      send,
      get: (path, more) => send('GET', path, undefined, more),
      post: (path, body, more) => send('POST', path, body, more),
      patch: (path, body, more) => send('PATCH', path, body, more),
      put: (path, body, more) => send('PUT', path, body, more),
      delete: (path, more) => send('DELETE', path, undefined, more),
    }
  }
  const token: PortalRig['token'] = async (customer, members = {}) =>
    tokenOf(await created('/admin/portal-links', { customer, mode: 'live', can: CAN, ...members }))
  return {
    operator,
    anonymous,
    customer: async (name) => (await created('/admin/customers', { name })).body.id,
    token,
    async session(customer, members) {
      const reply = await anonymous.post('/portal/session', {
        token: await token(customer, members),
      })
      assert.equal(reply.status, 201, reply.text)
      return withCookieOf(reply)
    },
    withCookieOf,
  }
}
