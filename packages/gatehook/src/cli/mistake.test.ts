/**
 * Expected errors become sentences and exit codes; what is unexpected stays a bug with its stack.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../config/config.ts'
import { Failure } from '../kernel/failure.ts'
import { DeclarationError } from '../resources/fields.ts'
import { StorageError } from '../storage/database.ts'
import { CommandError, explain, placeIn, ServiceError, UsageError } from './mistake.ts'

const errno = (more: object) => Object.assign(new Error('listen'), { syscall: 'listen', ...more })
const lost = (code: string) => new StorageError('It is away.', { cause: { code } })

const rows: [error: unknown, exit: number, sentences: string | RegExp][] = [
  [new ConfigError(['one', 'two']), 78, 'one|two'],
  [new UsageError('so not'), 2, 'so not'],
  [new CommandError('cannot'), 1, 'cannot'],
  [new ServiceError('a\nb'), 78, 'a|b'],
  [new DeclarationError('a\nb'), 78, 'a|b'],
  [lost('ECONNREFUSED'), 1, /It is away\. \(GATEHOOK_DATABASE_URL\)/],
  [lost('28P01'), 78, /It is away/],
  [new Failure('not_found', 'No such thing.'), 1, 'No such thing.'],
  [
    new Failure('validation_failed', undefined, {
      errors: [{ pointer: '/name', code: 'required', message: 'is required' }],
    }),
    2,
    'name is required',
  ],
  [errno({ code: 'EADDRINUSE', port: 80, address: '::1' }), 1, /Port 80 on ::1 is in use/],
  [errno({ code: 'EACCES', port: 80 }), 78, /above 1023/],
  [errno({ code: 'EADDRNOTAVAIL', address: '192.0.2.1' }), 78, /192\.0\.2\.1/],
  [errno({ syscall: 'getaddrinfo', code: 'ENOTFOUND', hostname: 'nowhere' }), 78, /for nowhere/],
]

for (const [error, exit, sentences] of rows) {
  test(`${(error as Error).constructor.name} → ${exit}: ${sentences}`, () => {
    const mistake = explain(error)
    assert.equal(mistake?.exit, exit)
    const told = mistake.sentences.join('|')
    if (typeof sentences === 'string') assert.equal(told, sentences)
    else assert.match(told, sentences)
  })
}

test('a bug is not explained away', () => {
  for (const bug of [new TypeError('x'), new Failure('internal_error'), undefined, 'text']) {
    assert.equal(explain(bug), undefined)
  }
})

test('the place is the nearest line that is not ours', () => {
  const engine = new URL('../resources/fields.ts', import.meta.url).href
  const error = new Error('no')
  error.stack = `Error: no\n  at f (${engine}:1:60)\n  at file:///srv/my%20api/service.ts:3:24\n`
  assert.equal(placeIn(error), '/srv/my api/service.ts:3')
  error.stack = '/srv/api/service.ts:2\nexport {{\n\nSyntaxError: no\n    at node:internal:1:2'
  assert.equal(placeIn(error), '/srv/api/service.ts:2')
  error.stack = 'Error: no\n    at node:internal/modules:1:2'
  assert.equal(placeIn(error), undefined)
})
