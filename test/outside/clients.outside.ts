/**
 * `npm run test:outside`: the commands of docs/guides/generated-clients.md, as printed, write two
 * clients of a running service for each of Python, Go, Java and C#. The client in Python calls the
 * service; `npm run test:judges` compiles the others, and calls three services with them. Needs the
 * registries of npm and PyPI, Maven Central and the proxy of Go, with Java, Maven, Go and Python.
 */
import assert from 'node:assert/strict'
import { cpSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { blocksOf } from '../docs/snippets.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { openService } from '../rig/service.ts'
import { installDotnet } from './dotnet.ts'
import { environment, output } from './stage.ts'

const NODE = dirname(process.execPath)
const page = new URL('../../docs/guides/generated-clients.md', import.meta.url)

/** The file of each client that calls the operations of orders. */
const CLIENTS = [
  'python_small/api/orders/create_order.py',
  'python/openapi_client/api/orders_api.py',
  'api.go',
  'go/api_orders.go',
  'java/src/main/java/org/openapitools/client/api/OrdersApi.java',
  'java_swagger/src/main/java/io/swagger/client/api/OrdersApi.java',
  'csharp/src/Org.OpenAPITools/Api/OrdersApi.cs',
  'nswag.cs',
]

const folder = emptyFolder({ after })

/** Returns the blocks of the languages, each with the commands of one. */
function readCommands(): readonly string[] {
  const [, part = ''] = readFileSync(page, 'utf8').split('\n## Python, Go, Java and C#\n')
  const commands = blocksOf(part).filter(({ language }) => language === 'sh')
  assert.equal(commands.length, 5, 'one for all, and one for each language')
  return commands.map(({ text }) => text)
}

test('the commands of the guide write two clients for each of four languages', async (t) => {
  const service = await openService(t, 'sqlite', { seed: true })
  const { url } = await service.app.listen()
  const variables = { URL: url, KEY: await service.key() }
  const env = environment([join(folder, 'venv/bin'), NODE].join(delimiter), variables)
  await output(folder, env, 'python3', '-m', 'venv', 'venv')
  await installDotnet(join(folder, 'dotnet'), join(folder, 'venv'))
  for (const commands of readCommands()) await output(folder, env, 'sh', '-ec', commands)
  for (const path of CLIENTS) {
    assert.match(readFileSync(join(folder, path), 'utf8'), /create_?order|order_?create/i, path)
  }
  for (const name of ['python_small', 'python/openapi_client']) {
    await output(folder, env, 'python', '-m', 'compileall', '-q', name)
  }
  cpSync(join(import.meta.dirname, 'clients'), folder, { recursive: true })
  assert.equal(await output(folder, env, 'python', 'smoke.py'), 'ok\n')
})
