/**
 * Programs of others sign persons in with a running service, and get tokens: Authlib (Python),
 * oauth2-proxy (Go) and mod_auth_openidc of an installed Apache. Their names in `JUDGES` are
 * `authlib`, `oauth2-proxy` and `apache`. `test/oauth/` has those of npm; `oidc-provider` signs
 * operators in, in the tests of §16.9.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { allowInBrowser } from '../oauth/browser.ts'
import { environment, output } from '../outside/stage.ts'
import { emptyFolder, onEnd } from '../rig/cleanup.ts'
import { eventually } from '../rig/eventually.ts'
import { freePort } from '../rig/postgres.ts'
import { openService } from '../rig/service.ts'
import { converse } from './conversation.ts'
import { isSelected } from './selection.ts'

const NODE = dirname(process.execPath)
const PROGRAM = 'authlib_client.py'
const APACHE = '/usr/sbin/apache2'
const MODULES = '/usr/lib/apache2/modules'
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const CALLBACK = 'https://app.example/callback'
const credentials = { username: 'ada@example.com', password: 'correct horse battery' }
const folder = join(process.env.JUDGES_FOLDER ?? emptyFolder({ after }), 'oauth')
const skipUnless = (name: string) => (isSelected(name) ? false : 'JUDGES selects others')

/** Starts a service with a person, and returns what registers clients. */
async function openProvider(t: TestContext) {
  const service = await openService(t, 'sqlite')
  const { url } = await service.app.listen()
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const create = async (path: string, body: object) => {
    const reply = await admin.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const { username: email, password } = credentials
  const { id } = await create('/admin/users', { name: 'Ada', email, password })
  const register = (members: object) =>
    create('/admin/clients', { name: 'Judge', scopes: ['orders:read'], ...members })
  return { url, create, register, subject: String(id) }
}

/** Starts a server of another project, and stops it after the test. */
function start(t: TestContext, program: string, args: readonly string[]) {
  const child = spawn(program, args, { env: environment(NODE), stdio: 'pipe' })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => lines.push(String(chunk)))
  }
  onEnd(t, async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  return () => lines.join('')
}

/** Opens a page of a relying party, and follows it through the sign-in and back. */
async function visit(address: string, log: () => string) {
  const isUp = () =>
    fetch(address, { redirect: 'manual' }).then(
      () => true,
      () => false,
    )
  await eventually(isUp, (up) => up)
  const page = await allowInBrowser(new URL(address), credentials, () => false)
  return { ...page, log: log() }
}

test('Authlib signs in, has keys, asserts and connects a device', {
  skip: skipUnless('authlib'),
}, async (t) => {
  const { url, create, register, subject } = await openProvider(t)
  mkdirSync(folder, { recursive: true })
  await output(folder, environment(NODE), 'python3', '-m', 'venv', 'venv')
  const pip = ['install', '--quiet', 'authlib==1.9.6', 'requests==2.34.2']
  await output(folder, environment(NODE), 'venv/bin/pip', ...pip)
  cpSync(join(import.meta.dirname, 'programs', PROGRAM), join(folder, PROGRAM))
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const members = { kid: 'one', alg: 'ES256' }
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), ...members }] }
  const issuer = 'https://ci.example'
  const rule = { match: { repository: 'acme/shop' }, customer: 'default', mode: 'live' }
  await create('/admin/issuers', { issuer, jwks, rules: [{ ...rule, scopes: ['orders:read'] }] })
  const settings = {
    url,
    callback: CALLBACK,
    issuer,
    key: { ...(await exportJWK(privateKey)), ...members },
    web: await register({
      redirect_uris: [CALLBACK],
      scopes: ['orders:read', 'tokens:introspect'],
    }),
    keyed: await register({ redirect_uris: [], grant_types: ['client_credentials'], jwks }),
    device: await register({ redirect_uris: [], public: true, grant_types: [DEVICE_GRANT] }),
  }
  const env = environment(NODE, { SETTINGS: JSON.stringify(settings) })
  const command = ['venv/bin/python', PROGRAM] as const
  const { results, errors } = await converse(command, { cwd: folder, env }, credentials)
  assert.deepEqual(
    results,
    {
      sign_in: { subject, email: credentials.username },
      use_keys: { scope: 'orders:read' },
      use_assertion: { status: 200 },
      connect_device: { subject, scope: 'openid orders:read' },
    },
    errors,
  )
})

test('oauth2-proxy lets a person through, and tells who it is', {
  skip: skipUnless('oauth2-proxy'),
}, async (t) => {
  mkdirSync(folder, { recursive: true })
  const program = join(folder, 'oauth2-proxy')
  if (!existsSync(program)) {
    const module = 'github.com/oauth2-proxy/oauth2-proxy/v7@latest'
    await output(folder, environment(NODE, { GOBIN: folder }), 'go', 'install', module)
  }
  const upstream = createServer((request, response) => {
    response.end(JSON.stringify(request.headers))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => void upstream.close().closeAllConnections())
  const { url, register, subject } = await openProvider(t)
  const address = `127.0.0.1:${await freePort()}`
  const redirect = `http://${address}/oauth2/callback`
  const client = await register({ redirect_uris: [redirect] })
  const log = start(t, program, [
    '--provider=oidc',
    `--oidc-issuer-url=${url}`,
    `--client-id=${client.client_id}`,
    `--client-secret=${client.client_secret}`,
    `--redirect-url=${redirect}`,
    `--http-address=${address}`,
    `--upstream=http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`,
    '--scope=openid email profile offline_access',
    '--code-challenge-method=S256',
    '--email-domain=*',
    '--cookie-secure=false',
    `--cookie-secret=${'0123456789abcdef'.repeat(2)}`,
    '--skip-provider-button=true',
  ])
  const page = await visit(`http://${address}/orders`, log)
  assert.equal(page.status, 200, page.text + page.log)
  const headers = JSON.parse(page.text)
  assert.equal(headers['x-forwarded-email'], credentials.username)
  assert.equal(headers['x-forwarded-user'], subject)
})

/**
 * The configuration of Apache whose pages only a person with an address reads. `OIDCUnAuthAction`:
 * the requests of Node look like those of scripts, which Apache redirects to no sign-in.
 */
const configuration = (
  root: string,
  provider: string,
  { client_id, client_secret }: Readonly<Record<string, string>>,
  [port, email]: readonly [port: number, email: string],
) => `
ServerRoot ${root}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${root}/pid
ErrorLog ${root}/error.log
DocumentRoot ${root}/pages
${['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'mime', 'auth_openidc']
  .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
  .join('\n')}
TypesConfig /etc/mime.types
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
OIDCProviderMetadataURL ${provider}/.well-known/openid-configuration
OIDCClientID ${client_id}
OIDCClientSecret ${client_secret}
OIDCRedirectURI http://127.0.0.1:${port}/callback
OIDCCryptoPassphrase a-phrase-of-the-judge
OIDCScope "openid email"
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
<Location />
  AuthType openid-connect
  OIDCUnAuthAction auth true
  Require claim email:${email}
</Location>
`

test('mod_auth_openidc of Apache admits the person that it names', {
  skip: existsSync(`${MODULES}/mod_auth_openidc.so`)
    ? skipUnless('apache')
    : 'libapache2-mod-auth-openidc is not installed',
}, async (t) => {
  for (const [email, status] of [
    [credentials.username, 200],
    ['eve@example.com', 401],
  ] as const) {
    const { url, register } = await openProvider(t)
    const port = await freePort()
    const client = await register({ redirect_uris: [`http://127.0.0.1:${port}/callback`] })
    const root = emptyFolder(t)
    chmodSync(root, 0o755)
    mkdirSync(join(root, 'pages'))
    writeFileSync(join(root, 'pages/index.html'), 'the orders')
    writeFileSync(join(root, 'httpd.conf'), configuration(root, url, client, [port, email]))
    start(t, APACHE, ['-f', join(root, 'httpd.conf'), '-DFOREGROUND'])
    const log = () => readFileSync(join(root, 'error.log'), 'utf8')
    const page = await visit(`http://127.0.0.1:${port}/`, log)
    assert.equal(page.status, status, page.text + page.log)
    assert.equal(page.text.includes('the orders'), status === 200)
  }
})
