/** Applications of docs/guides/mounted.md: the engine below `/gatehook`, and their end. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { type Application, startApplication } from './application.ts'

export interface Host extends Application {
  /** A key with the scope `admin`. */
  readonly admin: string
}

/** Starts an application that mounts the engine, on an empty database. */
export async function startHost(
  t: TestContext,
  folder: string,
  words: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Host> {
  const admin = generateApiKey(systemRandom(), 'live')
  const database = `sqlite:${join(emptyFolder(t), 'gatehook.db')}`
  const application = await startApplication(t, folder, words, (url) => ({
    PUBLIC_URL: `${url}/gatehook`,
    GATEHOOK_DATABASE_URL: database,
    GATEHOOK_BOOTSTRAP_KEY: admin,
    GATEHOOK_DRAIN_DELAY_S: '0',
    ...more,
  }))
  return { ...application, admin }
}

export const postJson = (url: string, body: object, key = '') =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
    body: JSON.stringify(body),
  })

/** Asserts that requests, documents, a stream and the end work as the guide says. */
export async function assertMounted({ url, admin, stop }: Host): Promise<void> {
  const scopes = ['books:read', 'books:write', 'events:read']
  const created = await postJson(`${url}/gatehook/admin/keys`, { name: 'Key', scopes }, admin)
  const { key } = (await created.json()) as { key: string }
  const books = `${url}/gatehook/api/v1/books`
  assert.equal((await fetch(books)).status, 401)
  assert.equal((await fetch(books, { headers: { 'x-api-key': key } })).status, 200)

  for (const document of ['oauth-authorization-server', 'oauth-protected-resource']) {
    const reply = await fetch(`${url}/.well-known/${document}/gatehook`)
    assert.equal(reply.status, 200, document)
    const metadata = (await reply.json()) as { issuer?: string; resource?: string }
    assert.ok((metadata.issuer ?? metadata.resource)?.startsWith(`${url}/gatehook`), document)
  }
  assert.equal((await fetch(`${url}/.well-known/api-catalog`)).status, 200)

  const stream = await fetch(`${url}/gatehook/events/stream`, {
    headers: { 'x-api-key': key, accept: 'text/event-stream' },
  })
  assert.equal(stream.status, 200)
  assert.equal((await postJson(books, { title: 'Solaris' }, key)).status, 201)
  let received = ''
  let exited: Promise<number | null> | undefined
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    received += chunk
    if (received.includes('book.created')) exited ??= stop()
  }
  assert.equal(await exited, 0, 'it ends by itself, and its streams before')
}
