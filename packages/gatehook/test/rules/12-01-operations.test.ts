/** §12.1: every route of the engine has an operation with its summary, input and output. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { engineRoutes } from '../../src/route-table.ts'

/** Pages and files for browsers and readers, and paths that are 404. */
const PAGES = /^GET (\/docs\b|\/llms\.txt$|.*\/api-catalog$|.*\*$)/

test('every row of the route table has an operation', async (t) => {
  const { app } = await openService(t, 'sqlite', { env: { GATEHOOK_TEST_CLOCK: '1' } })
  const declared = new Map(
    ['v2', 'platform', 'admin'].flatMap((name) => {
      const { paths } = app.openapi(name) as { paths: Record<string, Record<string, unknown>> }
      return Object.entries(paths).flatMap(([path, item]) =>
        Object.entries(item).map(([method, operation]) => [
          `${method.toUpperCase()} ${path.replace('/v2/', '/').replace(/\{(\w+)\}/g, ':$1')}`,
          operation,
        ]),
      ) as [string, { summary?: string }][]
    }),
  )
  for (const { method, path, kind } of engineRoutes) {
    const route = `${method} ${path}`
    if (PAGES.test(route) || (kind === 'page' && !declared.has(route))) continue
    assert.ok(declared.get(route)?.summary, route)
  }
})
