/**
 * §15.10: the type of an event lacks texts that can have more than 64 KiB, and that of a row has
 * them. The file is compiled, not run.
 */

import { f } from '../../src/gatehook.ts'
import type { EventRowOf, WireRowOf } from '../../src/protocol/fields/fields.ts'

const fields = {
  id: f.id(),
  short: f.string().max(65_536),
  long: f.string().min(1).max(65_537).nullable(),
  longer: f.string().max(1_000_000).default(''),
  tens: f.string().max(70_000).visible('a:read'),
  amount: f.decimal(12, 2).max(100_000),
}

type Short = 'id' | 'short' | 'amount'
type Same<A, B> = [A, B] extends [B, A] ? true : false
type Row = WireRowOf<typeof fields>

export const events: Same<keyof EventRowOf<typeof fields>, Short> = true
export const rows: Same<keyof Row, Short | 'long' | 'longer' | 'tens'> = true
export const values: readonly [Same<Row['long'], string | null>, Same<Row['longer'], string>] = [
  true,
  true,
]
