/** Creates the people of a test service, and signs them in with Basic or login. */
import assert from 'node:assert/strict'
import type { Caller, Reply, TestApp } from '../../../../test/rig/service.ts'

export const PASSWORD = 'correct horse'

export const basicOf = (username: string, password: string = PASSWORD) => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
})

export const bearerOf = (token: string) => ({ authorization: `Bearer ${token}` })

export interface PeopleRig {
  /** Sends requests with a key of scope `admin`. */
  readonly operator: Caller
  /** Sends requests without a credential. */
  readonly anonymous: Caller
  /** Creates a person in test mode of the default customer; the test fails if it is rejected. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  createPerson(name: string, more?: Record<string, unknown>): Promise<any>
  login(username: string, password?: string): Promise<Reply>
  /** Returns the access token of a login. */
  token(username: string, password?: string): Promise<string>
}

export const emailOf = (name: string): string => `${name}@example.com`

export async function openPeople(service: TestApp): Promise<PeopleRig> {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const anonymous = service.as(undefined)
  const login = (username: string, password = PASSWORD) =>
    anonymous.post('/auth/login', { username, password })
  return {
    operator,
    anonymous,
    login,
    async createPerson(name, more = {}) {
      const fields = { name, email: emailOf(name), password: PASSWORD, mode: 'test' }
      const created = await operator.post('/admin/users', { ...fields, ...more })
      assert.equal(created.status, 201, created.text)
      return created.body
    },
    async token(username, password) {
      const response = await login(username, password)
      assert.equal(response.status, 200, response.text)
      return response.body.access_token
    },
  }
}
