/** Requests straight to a node, as a proxy sends them. */
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { text as readText } from 'node:stream/consumers'

const PROBE_LIMIT_MS = 5_000
export const PROXIED = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' }

/** Sends a GET, also to a node with a certificate of its own. */
export async function getFrom(url: string, headers: Readonly<Record<string, string>> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const options = {
    headers: { 'x-forwarded-proto': 'https', ...headers },
    signal: AbortSignal.timeout(PROBE_LIMIT_MS),
    agent: false as const,
  }
  const isTls = url.startsWith('https:')
  const sent = isTls
    ? requestTls(url, { ...options, rejectUnauthorized: false })
    : requestPlain(url, options)
  sent.once('error', reject)
  sent.once('response', (response) => {
    const status = response.statusCode!
    readText(response).then((text) => resolve({ status, text }), reject)
  })
  sent.end()
  return promise
}

/** Sends JSON; without a key, as a stranger. */
export async function send(
  node: string,
  key: string | undefined,
  method: string,
  path: string,
  body?: object,
  own: Readonly<Record<string, string>> = {},
) {
  const headers = { ...(key && { 'x-api-key': key }), 'content-type': 'application/json', ...own }
  const init = {
    method,
    headers: { ...headers, ...PROXIED },
    ...(body && { body: JSON.stringify(body) }),
  }
  const response = await fetch(node + path, init)
  const text = await response.text()
  return { status: response.status, text }
}
