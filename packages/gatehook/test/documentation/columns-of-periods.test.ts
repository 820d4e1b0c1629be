/** §12.2: tables show a period as a period, and no instant of 1970. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namedObjects } from '../../../../docs/generate/page-columns.ts'
import { objectFacts, tableColumns } from '../../src/protocol/fields/columns.ts'

test('a member of a number of seconds is displayed as a period, an instant as an instant', () => {
  const columns = namedObjects().flatMap(([object, spec]) =>
    [...tableColumns({ spec }), ...objectFacts({ spec })].map(({ name, as }) => ({
      path: `${object}.${name}`,
      as,
    })),
  )
  assert.ok(columns.some(({ path }) => path === 'Node.report_age_s'))
  for (const { path, as } of columns) {
    const isPeriod = /_s$/.test(path)
    if (isPeriod) assert.equal(as, 'age', path)
    else assert.notEqual(as, 'age', path)
  }
})
