/** The types that `gatehook client types` writes for services of the repository: `spec/client/`. */
import { hotel } from '../../packages/gatehook/examples/bookings/service.ts'
import { api as invoicing } from '../../packages/gatehook/examples/invoicing/service.ts'
import { marketplace } from '../../packages/gatehook/examples/marketplace/service.ts'
import { api } from '../../packages/gatehook/service/service.ts'
import { catalogOf } from '../../packages/gatehook/src/cli/openapi.ts'
import { clientCode } from '../../packages/gatehook/src/declare/resources/client-code.ts'
import type { Service } from '../../packages/gatehook/src/declare/resources/service.ts'
import { api as everyWord } from '../../packages/gatehook/test/types/client-types.ts'

const code = ({ definition }: Service, version: string) =>
  clientCode(catalogOf(definition), version)

/** The text of each file. */
export const snapshots = (): Readonly<Record<string, string>> => ({
  'reference.ts': code(api, 'v2'),
  'bookings.ts': code(hotel, 'v2'),
  'bookings-v1.ts': code(hotel, 'v1'),
  'invoicing.ts': code(invoicing, 'v2'),
  'marketplace.ts': code(marketplace, 'v1'),
  'every-word.ts': code(everyWord, 'v10'),
})

export const snapshotFile = (name: string): URL =>
  new URL(`../../spec/client/${name}`, import.meta.url)
