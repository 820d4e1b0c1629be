import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { createDiskFaults } from './disk-faults.ts'
import { isDamage, isDiskFull, translatePostgresError } from './postgres-errors.ts'

test('damage of PostgreSQL lasts until a standby is promoted', () => {
  const lines: string[] = []
  const log = pino({ level: 'fatal' }, { write: (line: string) => void lines.push(line) })
  const faults = createDiskFaults({ log, isDamage, isDiskFull })
  const { hasDamage } = faults.methods(async () => {})
  const note = (code: string) => {
    const error = translatePostgresError(Object.assign(new Error('x'), { code }))
    assert.throws(() => faults.note(error))
  }
  for (const code of ['57014', '53100', 'XX000', '23505']) note(code)
  assert.equal(hasDamage(), false)
  for (const code of ['XX001', 'XX002', '58030', '58P01']) {
    note(code)
    note(code)
    assert.equal(hasDamage(), true, code)
    faults.forgetDamage()
    assert.equal(hasDamage(), false)
  }
  assert.equal(lines.length, 4, 'once for each time')
})
