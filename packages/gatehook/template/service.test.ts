/** Calls the service as its clients do, with its own database and no port. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type App, openApp } from 'gatehook/app'

/** Imported within `openApp`, which reports all mistakes of the declaration together. */
const load = () => import('./service.ts')
let app: App

before(async () => {
  app = await openApp({ service: load, seed: true })
})
after(() => app.close())

test('each list requires a key and returns rows of the samples', async () => {
  const { resources } = (await load()).api.definition
  const key = await app.createKey()
  for (const { name, sample, access } of resources) {
    if (access === false) continue // own code alone uses its rows
    const path = `/api/${name}?limit=1`
    assert.equal((await app.request(path)).status, 401)
    const response = await app.request(path, { headers: { 'x-api-key': key } })
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: unknown[] }
    assert.equal(data.length, sample ? 1 : 0)
  }
})

test('every version has an OpenAPI document', async () => {
  const { versions } = (await load()).api.definition
  for (const { name } of versions) {
    assert.equal((await app.request(`/openapi/${name}.json`)).status, 200)
  }
})
