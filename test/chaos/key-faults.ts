/** Keys, secrets and certificates that change, or that others use, while nodes serve. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connect, type PeerCertificate } from 'node:tls'
import { getFrom } from './node-requests.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'
import {
  auditFault,
  type LoadWorld,
  needHaproxy,
  type OperatorFaults,
  requireNoFailure,
  withDatabase,
} from './under-load.ts'

const WITHIN_MS = 30_000
const POLL_MS = 100
const CERTIFICATES = join(import.meta.dirname, '../../packages/gatehook/test/fixtures/tls')
/** Requests of the owner before those of the thief. */
const OWN_REQUESTS = 30

const onPostgres =
  (
    inject: (faults: OperatorFaults) => Promise<void>,
    world: Pick<LoadWorld, 'spares' | 'environment'> = {},
  ) =>
  async (context: ChaosContext): Promise<ChaosCounts> =>
    requireNoFailure(
      await withDatabase('postgres', context, (databaseUrl) =>
        auditFault(context, { ...world, databaseUrl, booksUrl: () => databaseUrl }, inject),
      ),
    )

async function waitUntil(holds: () => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + WITHIN_MS
  while (performance.now() < untilMs) {
    if (await holds()) return true
    await pause(POLL_MS)
  }
  return false
}

interface Client {
  readonly client_id: string
  readonly client_secret: string
}

/** A rotation leaves tokens valid; one after a leak ends them on every node. */
async function rotateSigningKey({ cluster, load, expect }: OperatorFaults) {
  const options = ['--name', 'c', '--mode', 'live', '--scope', 'r', '--json']
  const { stdout } = await cluster.run(['clients', 'create', ...options])
  const client = JSON.parse(stdout) as Client
  const issue = async () => {
    const form = { grant_type: 'client_credentials', ...client }
    const response = await fetch(`${cluster.nodes[0]!.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { 'x-forwarded-proto': 'https' },
    })
    return ((await response.json()) as { access_token: string }).access_token
  }
  const statusesOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const all = cluster.nodes.map(({ url }) => getFrom(`${url}/api/v1/payments`, headers))
    return (await Promise.all(all)).map(({ status }) => status)
  }
  const have = (expected: number, token: string) => async () =>
    (await statusesOf(token)).every((status) => status === expected)
  const former = await issue()
  load.markFault()
  expect((await cluster.run(['keys', 'rotate-signing'])).exit === 0, 'the rotation fails')
  expect(await have(200, former)(), 'a rotation ends a token')
  const now = await cluster.run(['keys', 'rotate-signing', '--now'])
  expect(now.exit === 0, 'the rotation after a leak fails')
  expect(await waitUntil(have(401, former)), 'a token of the leaked key is valid')
  expect(await waitUntil(have(200, await issue())), 'a token of the new key is refused')
  await load.recovery()
}

/** The rotation is refused while a node lacks the new secret, and names it. */
async function rotateSecret({ cluster, load, expect }: OperatorFaults) {
  const GATEHOOK_SECRET_KEY = 'the next secret that only tests know, long enough'
  const previous = 'a secret that only tests know, long enough'
  const environment = { GATEHOOK_SECRET_KEY, GATEHOOK_SECRET_KEY_PREVIOUS: previous }
  const restart = async (at: number, own: Readonly<Record<string, string>>) => {
    await cluster.end(at, 'SIGTERM')
    await cluster.replace(at, { environment: own })
  }
  load.markFault()
  await restart(0, environment)
  const early = await cluster.run(['secrets', 'rotate'], { environment })
  expect(early.exit === 78, `a rotation beside a node without the secret ends with ${early.exit}`)
  await restart(1, environment)
  const rotation = await cluster.run(['secrets', 'rotate'], { environment })
  expect(rotation.exit === 0, `the rotation ends with ${rotation.exit}`)
  for (const at of cluster.nodes.keys()) await restart(at, { GATEHOOK_SECRET_KEY })
  await load.recovery()
}

const certificateOf = (port: number) => {
  const { promise, resolve, reject } = Promise.withResolvers<PeerCertificate>()
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
    resolve(socket.getPeerCertificate())
    socket.destroy()
  })
  socket.once('error', reject)
  return promise
}

/** A node with a certificate that ends in ten days gets another one while it serves. */
async function replaceCertificate({ cluster, load, folder, witness, expect }: OperatorFaults) {
  const [certFile, keyFile] = [join(folder, 'server.crt'), join(folder, 'server.key')]
  const subject = ['-subj', '/CN=ending.gatehook.test', '-days', '10', '-nodes', '-x509']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  const files = ['-keyout', keyFile, '-out', certFile]
  expect(spawnSync('openssl', ['req', ...subject, ...curve, ...files]).status === 0, 'no openssl')
  load.markFault()
  const environment = { GATEHOOK_TLS_CERT: certFile, GATEHOOK_TLS_KEY: keyFile }
  const { url } = await cluster.replace(2, { environment })
  await witness.until(/readyz 200: certificate/)
  await witness.until(/attention: \w+ certificate_expiring/)
  await witness.until(/system: this node .*certificate: /)
  await cluster.run(['doctor'], { environment })
  let failures = 0
  const put = (name: string) => {
    for (const [end, file] of [
      ['key', keyFile],
      ['crt', certFile],
    ] as const) {
      copyFileSync(join(CERTIFICATES, `${name}.${end}`), `${file}.new`)
      renameSync(`${file}.new`, file)
    }
  }
  put('first')
  const isReplaced = async () => {
    const { status } = await getFrom(`${url}/healthz`)
    if (status !== 200) failures++
    const { subject: replaced } = await certificateOf(Number(new URL(url).port))
    return replaced.CN === 'first.gatehook.test'
  }
  expect(await waitUntil(isReplaced), 'the node serves the former certificate')
  expect(failures === 0, `${failures} requests failed beside the new certificate`)
  await load.recovery()
}

/** A key that one address uses is used from others. */
async function leakKey({ cluster, load, witness }: OperatorFaults) {
  const options = ['--name', 'Leaked', '--mode', 'live', '--scopes', 'r', '--json']
  const { key } = JSON.parse((await cluster.run(['keys', 'create', ...options])).stdout)
  const read = (address: string) =>
    getFrom(`${cluster.nodes[0]!.url}/api/v1/payments?limit=1`, {
      'x-api-key': key,
      'x-forwarded-for': address,
    })
  for (let n = 0; n < OWN_REQUESTS; n++) await read('198.51.100.7')
  load.markFault()
  for (let n = 1; n <= 3; n++) await read(`203.0.113.${n}`)
  await witness.until(/attention: warn key_moved: Leaked/)
  await load.recovery()
}

const scenario = (
  rest: Pick<ChaosScenario, 'name' | 'title' | 'run' | 'words' | 'groups'>,
): ChaosScenario => ({ nodes: [2], missing: needHaproxy, ...rest })

export const keyFaults: readonly ChaosScenario[] = [
  scenario({
    name: 'signing-key',
    title: 'the signing key is rotated, then replaced after a leak',
    groups: ['operate'],
    words: [/gatehook keys rotate-signing --now, exit 0: .* signs now/],
    // Both nodes issue and accept tokens of one issuer.
    run: onPostgres(rotateSigningKey, {
      environment: { GATEHOOK_PUBLIC_URL: 'https://api.example.test' },
    }),
  }),
  scenario({
    name: 'secret-rotation',
    title: 'the master secret is rotated, first while a node lacks the new one',
    groups: ['operate'],
    words: [/gatehook secrets rotate, exit 78: .*node2/],
    run: onPostgres(rotateSecret),
  }),
  scenario({
    name: 'certificate',
    title: 'the certificate of a node ends in ten days, and its files are replaced',
    groups: ['operate', 'drill'],
    words: [
      /readyz 200: certificate: The certificate of the server ends at/,
      /attention: warn certificate_expiring/,
      /metrics: gatehook_certificate_end_timestamp_seconds/,
      /system: this node .*certificate: /,
      /log of node3: The certificate of the server ends at/,
      /gatehook doctor, exit \d: certificate +warn +ends in \d days/,
    ],
    run: onPostgres(replaceCertificate, { spares: 1 }),
  }),
  scenario({
    name: 'leaked-key',
    title: 'a key that one address uses is used from new ones',
    groups: ['operate', 'drill'],
    words: [/attention: warn key_moved: Leaked, .*203\.0\.113\.\d/],
    run: onPostgres(leakKey),
  }),
]
