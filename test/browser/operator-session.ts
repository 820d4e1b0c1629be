/** Sessions of the console without its sign-in pages: links and operators, as cookies. */
import assert from 'node:assert/strict'

/** A cookie as Playwright accepts it. */
export interface SessionCookie {
  readonly url: string
  readonly name: string
  readonly value: string
}

async function postForCookie(url: string, path: string, body: unknown, cookie = '') {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gatehook-console': '1', cookie },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 201, await response.text())
  const [pair = ''] = response.headers.getSetCookie()[0]!.split(';')
  const at = pair.indexOf('=')
  return { url, name: pair.slice(0, at), value: pair.slice(at + 1) }
}

/** Exchanges the token of a one-time link for a session. */
export const openLinkSession = (url: string, link: string): Promise<SessionCookie> =>
  postForCookie(url, '/console/session', { token: link.split('token=')[1] })

let operators = 0

/** Creates an operator in the session of a link; returns the session of the operator. */
export function createOperator(session: SessionCookie, role: string): Promise<SessionCookie> {
  const email = `${role}${++operators}@example.com`
  const body = { email, password: 'a long enough phrase', role }
  const cookie = `${session.name}=${session.value}`
  return postForCookie(session.url, '/console/session/operator', body, cookie)
}
