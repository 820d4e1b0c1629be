/** Registrations whose deliveries wait in their events (decision 0083). */
import type { Caller, TestApp } from '../../../../test/rig/service.ts'
import { changeBacklog } from '../../src/outbound/deliveries/backlog-store.ts'
import type { EndpointKey } from '../../src/outbound/deliveries/ports.ts'
import type { Row } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

/** Returns the key of a registration whose deliveries wait in their events from now on. */
export async function beginBacklog({ app }: TestApp, id: string): Promise<EndpointKey> {
  const row = await app.db.get<EndpointKey & Row>(
    sql`SELECT no, scope FROM gh_webhooks WHERE id = ${id}`,
  )
  await changeBacklog(app.db, row!, 1)
  return row!
}

/** Pauses a registration, and begins its backlog. */
export async function holdBack(service: TestApp, id: string, own: Pick<Caller, 'patch'> = service) {
  await own.patch(`/webhooks/${id}`, { active: false })
  return beginBacklog(service, id)
}
