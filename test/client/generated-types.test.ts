/**
 * The types that `gatehook client types` writes are those of the declaration (§15.11), which `tsc`
 * checks: `npm run check:types` compiles this file.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { hotel } from '../../packages/gatehook/examples/bookings/service.ts'
import type { api as invoicing } from '../../packages/gatehook/examples/invoicing/service.ts'
import type { marketplace } from '../../packages/gatehook/examples/marketplace/service.ts'
import type { api } from '../../packages/gatehook/service/service.ts'
import type { api as everyWord } from '../../packages/gatehook/test/types/client-types.ts'
import type { Types as Bookings } from '../../spec/client/bookings.ts'
import type { Types as OlderBookings } from '../../spec/client/bookings-v1.ts'
import type { Types as EveryWord } from '../../spec/client/every-word.ts'
import type { Types as Invoicing } from '../../spec/client/invoicing.ts'
import type { Types as Marketplace } from '../../spec/client/marketplace.ts'
import type { Types as Reference } from '../../spec/client/reference.ts'
import { snapshotFile, snapshots } from './snapshots.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

exactly<(typeof api)['types'], Reference>(true)
exactly<(typeof hotel)['types'], Bookings>(true)
exactly<(typeof invoicing)['types'], Invoicing>(true)
exactly<(typeof marketplace)['types'], Marketplace>(true)
exactly<(typeof everyWord)['types'], EveryWord>(true)
// An older version has its own names.
exactly<keyof OlderBookings['resources']['guests']['filters'], 'email' | 'metadata'>(true)
exactly<
  OlderBookings['resources']['guests']['create'],
  {
    readonly first_name: string
    readonly last_name?: string
    readonly email: string
    readonly metadata?: Readonly<Record<string, string>>
  }
>(true)
// @ts-expect-error: the types of two services differ
exactly<(typeof hotel)['types'], Marketplace>(true)

test('the files in spec/client are those that the command writes', () => {
  for (const [name, text] of Object.entries(snapshots())) {
    assert.equal(text, readFileSync(snapshotFile(name), 'utf8'), `${name}: npm run spec`)
  }
})
