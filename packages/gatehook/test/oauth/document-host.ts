/** A host of client documents over TLS, and apps that trust its authority. */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import {
  authorizePath,
  CALLBACK,
  exchange,
  follow,
  grantConsent,
  type OauthFixture,
  openBrowser,
  openOauthFixture,
  PASSWORD,
  type TestBrowser,
} from './rig.ts'

const fixture = (name: string) => new URL(`../fixtures/tls/receivers/${name}`, import.meta.url)

/** The environment in which private hosts are reached and the authority is trusted. */
export const documentEnv = {
  GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  GATEHOOK_WEBHOOK_CA: fileURLToPath(fixture('authority.crt')),
}

/** A response: a document as JSON, or a handler. */
export type Behaviour =
  | Readonly<Record<string, unknown>>
  | ((request: IncomingMessage, response: ServerResponse) => void)

export interface DocumentHost {
  readonly port: number
  /** Returns the client id at a path. */
  id(path?: string): string
  /** The paths of all requests. */
  readonly requests: string[]
  /** Sets the response of a path. */
  serve(path: string, behaviour: Behaviour, headers?: Record<string, string>): void
  /** Sets a valid document, changed by `more`; `undefined` omits a member. */
  document(more?: Record<string, unknown>, path?: string, headers?: Record<string, string>): string
}

export async function openDocumentHost(t: TestContext): Promise<DocumentHost> {
  const requests: string[] = []
  const paths = new Map<string, [Behaviour, Record<string, string>]>()
  const tls = { key: readFileSync(fixture('good.key')), cert: readFileSync(fixture('good.crt')) }
  const server = createServer(tls, (request, response) => {
    requests.push(request.url!)
    const [behaviour, headers] = paths.get(request.url!) ?? []
    if (behaviour === undefined) response.writeHead(404).end()
    else if (typeof behaviour === 'function') behaviour(request, response)
    else {
      response.writeHead(200, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(behaviour))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const id = (path = '/client.json') => `https://127.0.0.1:${port}${path}`
  const serve: DocumentHost['serve'] = (path, behaviour, headers = {}) => {
    paths.set(path, [behaviour, headers])
  }
  return {
    port,
    id,
    requests,
    serve,
    document(more = {}, path = '/client.json', headers = {}) {
      const document = {
        client_id: id(path),
        client_name: 'Agent',
        redirect_uris: [CALLBACK],
        ...more,
      }
      serve(path, document, headers)
      return id(path)
    },
  }
}

export const open = async (
  t: Parameters<typeof openOauthFixture>[0],
  kind: 'sqlite' | 'postgres',
) => ({
  host: await openDocumentHost(t),
  fixture: await openOauthFixture(t, kind, { env: documentEnv }),
})

/** Signs in, and returns the page after it. */
export async function signIn(browser: TestBrowser, path: string, { person }: OauthFixture) {
  const fields = { username: person.email, password: PASSWORD, action: 'sign-in' }
  return follow(browser, await browser.submit(await browser.get(path), fields))
}

export const codeOf = async (fixture: OauthFixture, id: string, more = {}) => {
  const path = authorizePath({ client_id: id }, more)
  const back = await grantConsent(openBrowser(fixture.app), path, fixture.person)
  return back.location!.searchParams.get('code')!
}

export const exchangeAs = (fixture: OauthFixture, id: string, code: string) =>
  exchange(fixture, code, { client_id: id }, {})
