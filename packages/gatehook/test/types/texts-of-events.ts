/** §15.10, §15.11: the type of an event has the fields that events have, in any order of calls. */
import { f } from '../../src/gatehook.ts'
import type { EventRowOf, WireRowOf } from '../../src/protocol/fields/fields.ts'

const fields = {
  id: f.id(),
  note: f.string().nullable().max(70_000),
  parts: f.array(f.object({ body: f.string().max(70_000) }), { max: 20 }),
  page: f.object({ body: f.string().max(70_000) }),
  text: f.string().default('').max(70_000),
  secret: f.string().visible('secrets').max(70_000),
  sized: f.string().max(70_000 as number),
  name: f.string().describe('The name.').max(65_536),
  price: f.decimal(12, 2).max(100_000),
  stock: f.int().max(100_000 as number),
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

interface OfEvents {
  readonly id: number
  readonly name: string
  readonly price: string
  readonly stock: number
  readonly sized?: string
}
exactly<{ [K in keyof OfEvents]: OfEvents[K] }, EventRowOf<typeof fields>>(true)
exactly<keyof WireRowOf<typeof fields>, keyof typeof fields>(true)
exactly<WireRowOf<typeof fields>['note'], string | null>(true)
exactly<WireRowOf<typeof fields>['page']['body'], string>(true)
