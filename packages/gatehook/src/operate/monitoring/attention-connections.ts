/** A server, a role or a database without a connection left, as an item of attention. */
import { type AttentionKind, itemOf } from './attention-kind.ts'

export const fullServer: AttentionKind = async ({ fullServer }) => {
  const state = fullServer()
  if (!state) return []
  const { of, repair, used, limit, application, ofApplication, sinceMs } = state
  return [
    itemOf('database_full', 'bad', sinceMs, {
      subject: { type: 'service', id: 'service', label: 'service' },
      facts: { of, repair, used, limit, application, of_application: ofApplication },
    }),
  ]
}
