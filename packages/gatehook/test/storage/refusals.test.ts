/** The reasons that PostgreSQL gives for a refused connection, by state and text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { primaryFaultOf } from '../../src/platform/storage/postgres-errors.ts'
import type { PrimaryFault } from '../../src/platform/storage/primary-fault.ts'

const refusals: readonly (readonly [code: string, message: string, PrimaryFault])[] = [
  ['28P01', 'password authentication failed for user "n"', 'password'],
  ['', 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'password'],
  ['28000', 'role "n" does not exist', 'unknown_role'],
  ['28000', 'role "n" is not permitted to log in', 'no_login'],
  ['28000', 'no pg_hba.conf entry for host "::1", user "n", database "d"', 'host_rules'],
  ['28000', 'pg_hba.conf rejects connection for host "::1", user "n"', 'host_rules'],
  ['28000', 'certificate authentication failed for user "n"', 'rejected'],
  ['3D000', 'database "d" does not exist', 'unknown_database'],
  ['55000', 'database "d" is not currently accepting connections', 'disallowed'],
  ['42501', 'permission denied for database "d"', 'forbidden'],
  ['58P01', 'could not access file "x": No such file or directory', 'library'],
  ['XX000', 'could not load library "/x.so": x.so: undefined symbol: x', 'library'],
  ['42501', 'access to library "x" is not allowed', 'library'],
  ['08P01', 'server login has been failing, cached error: could not access file "x"', 'library'],
  ['08P01', 'transaction blocks not allowed in statement pooling mode', 'pooler_mode'],
  ['42704', 'unrecognized configuration parameter "a"', 'options'],
  ['22023', 'invalid value for parameter "jit": "maybe"', 'options'],
  ['53300', 'too many connections for role "n"', 'full_role'],
  ['53300', 'too many connections for database "d"', 'full_database'],
  ['53300', 'sorry, too many clients already', 'full'],
]

for (const [code, message, fault] of refusals) {
  test(`${code || 'pg'}: ${message} is ${fault}`, () => {
    assert.equal(primaryFaultOf(Object.assign(new Error(message), { code })), fault)
  })
}
