/** Expected errors have sentences and exit codes; a bug has its stack. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../kernel/failure.ts'
import { ConfigError } from '../platform/config/config.ts'
import { StorageWaitError } from '../platform/storage/database.ts'
import { cannotBeOpened } from '../platform/storage/postgres-errors.ts'
import { DeclarationError } from '../protocol/fields/declaration-mistakes.ts'
import { CommandError, reportOfError, UsageError } from './errors.ts'

const errno = (more: object) => Object.assign(new Error('listen'), { syscall: 'listen', ...more })
const lost = (code?: string, message = 'It is away') =>
  cannotBeOpened(
    { label: 'postgres://db', verifiesByDefault: false },
    Object.assign(new Error(message), { code }),
  )

const rows: [error: unknown, exit: number, sentences: string | RegExp][] = [
  [new ConfigError(['one', 'two']), 78, 'one|two'],
  [new UsageError('wrong'), 2, 'wrong'],
  [new CommandError('cannot'), 1, 'cannot'],
  [new DeclarationError('a\nb'), 78, 'a|b'],
  [lost('ECONNREFUSED'), 75, /It is away\. \(GATEHOOK_DATABASE_URL\)/],
  [lost('57P03'), 75, /It is away/], // the server starts
  [lost('25006'), 75, /It is away/], // the only server is a standby
  [lost('53300'), 75, /It is away/], // it has no free connection
  [new StorageWaitError('No synchronous standby.'), 75, /No synchronous standby/],
  [lost(undefined, 'Connection terminated due to connection timeout'), 75, /timeout/],
  [lost('ENOTFOUND'), 78, /It is away/],
  [lost('28P01'), 78, /It is away/], // a wrong password
  [lost('3D000'), 78, /It is away/], // no such database
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
    const report = reportOfError(error)
    assert.equal(report?.exit, exit)
    const text = report.sentences.join('|')
    if (typeof sentences === 'string') assert.equal(text, sentences)
    else assert.match(text, sentences)
  })
}

test('a bug has no report', () => {
  for (const bug of [new TypeError('x'), new Failure('internal_error'), undefined, 'text']) {
    assert.equal(reportOfError(bug), undefined)
  }
})
