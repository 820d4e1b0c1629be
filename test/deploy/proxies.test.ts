/**
 * §2.3: the proxies in `deploy/` replace every forwarded header that nodes read, so that a client
 * has no influence on its address, its scheme and the host.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import http, { createServer, type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { hasCaddy, startCaddy } from '../rig/caddy.ts'
import { breath } from '../rig/eventually.ts'
import { haproxyCertificate, hasHaproxy, startHaproxy } from '../rig/haproxy.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The forwarded headers that nodes read. */
const HEADERS = [
  ...new Set(
    read('packages/gatehook/src/protocol/http/proxy-trust.ts').match(/(?<=headers\[')[a-z-]+/g),
  ),
].sort()

/** The files that configure a proxy, and whether one replaces a header. */
const PROXIES: Readonly<Record<string, (file: string, header: string) => boolean>> = {
  // Caddy replaces them, unless it trusts a proxy in front of it or a directive changes a header.
  'deploy/Caddyfile': (file, header) =>
    !/trusted_proxies/.test(file) && !new RegExp(`header_up.*${header}`, 'i').test(file),
  'deploy/haproxy.cfg': (file, header) =>
    new RegExp(`^ *http-request set-header ${header} \\S+$`, 'im').test(file),
}

const PROXIES_REQUESTS = /reverse_proxy|proxy_pass|^backend |kind: (Ingress|HTTPRoute)/m

test('every proxy that is shipped replaces every forwarded header that nodes read', () => {
  assert.deepEqual(HEADERS, ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'])
  const files = globSync('deploy/**/*', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
  const proxies = files.filter((path) => PROXIES_REQUESTS.test(read(path)))
  assert.deepEqual(proxies.sort(), Object.keys(PROXIES))
  for (const [path, replaces] of Object.entries(PROXIES)) {
    const file = read(path).replaceAll(/^\s*#.*$/gm, '')
    for (const header of HEADERS) assert.ok(replaces(file, header), `${path}: ${header}`)
  }
})

/** Returns the body of the response, with TLS if the URL says so. */
async function readText(url: string, headers: Record<string, string>): Promise<string> {
  const { get } = url.startsWith('https:') ? https : http
  const [response] = await once(get(url, { headers, ca: haproxyCertificate }), 'response')
  return text(response)
}

interface Proxy {
  readonly name: string
  readonly isInstalled: boolean
  readonly start: (
    nodes: readonly number[],
  ) => Promise<{ readonly urls: readonly string[]; readonly stop: () => Promise<void> }>
}

const started: readonly Proxy[] = [
  {
    name: 'haproxy',
    isInstalled: hasHaproxy,
    async start(nodes) {
      const { url, plainUrl, stop } = await startHaproxy(nodes)
      return { urls: [url, plainUrl], stop }
    },
  },
  {
    name: 'caddy',
    isInstalled: hasCaddy,
    async start(nodes) {
      const { url, stop } = await startCaddy(nodes)
      return { urls: [url], stop }
    },
  },
]

for (const { name, isInstalled, start } of started) {
  test(`a client has no influence on the forwarded headers behind ${name}`, {
    skip: !isInstalled && `${name} is not installed`,
  }, async () => {
    const node = createServer(({ headers }, response) => {
      response.end(JSON.stringify(headers))
    })
    await new Promise<void>((resolve) => void node.listen(0, '127.0.0.1', resolve))
    const proxy = await start([(node.address() as AddressInfo).port])
    try {
      const sent = {
        'x-forwarded-for': '6.6.6.6',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'evil.example',
      }
      assert.deepEqual(Object.keys(sent).sort(), HEADERS)
      for (const url of proxy.urls) {
        const forwarded = async () => JSON.parse(await readText(url, sent)) as IncomingHttpHeaders
        let headers: IncomingHttpHeaders | undefined
        while (!headers) headers = await forwarded().catch(() => breath().then(() => undefined))
        const { protocol, host } = new URL(url)
        assert.deepEqual(
          Object.keys(sent).map((header) => headers[header]),
          ['127.0.0.1', protocol.slice(0, -1), host],
        )
      }
    } finally {
      await proxy.stop()
      node.close()
    }
  })
}
