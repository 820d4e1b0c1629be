/** The check of `gatehook doctor` on the port, which sends a request if a program has it. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openService } from '../../../../test/rig/service.ts'
import { checkPort } from '../../src/cli/doctor-checks.ts'
import { loadConfig } from '../../src/platform/config/config.ts'

const check = (port: number) =>
  checkPort(loadConfig({ GATEHOOK_HOST: '127.0.0.1', GATEHOOK_PORT: String(port) }))

test('a port that Gatehook has is fine, one of another program is a warning', async (t) => {
  const { app } = await openService(t, 'sqlite', { env: { GATEHOOK_HOST: '127.0.0.1' } })
  const { port } = await app.listen()
  assert.deepEqual(await check(port), { state: 'ok', detail: `${port} is in use by Gatehook` })
  const other = createServer((_request, response) => response.end('{"status":"ok"}'))
  onEnd(t, () => other.close())
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const taken = (other.address() as AddressInfo).port
  const { state, detail } = await check(taken)
  const sentence = `${taken} is in use, and no Gatehook answers there`
  assert.deepEqual([state, detail], ['warn', sentence])
})

test('a node that serves TLS under a name of its own is Gatehook', async (t) => {
  const fixture = (name: string) =>
    fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
  const tls = {
    GATEHOOK_TLS_CERT: fixture('first.crt'),
    GATEHOOK_TLS_KEY: fixture('first.key'),
  }
  const env = { GATEHOOK_HOST: '127.0.0.1', ...tls }
  const { app } = await openService(t, 'sqlite', { env })
  const { port } = await app.listen()
  const { state, detail } = await checkPort(loadConfig({ ...env, GATEHOOK_PORT: String(port) }))
  assert.deepEqual([state, detail], ['ok', `${port} is in use by Gatehook`])
})
