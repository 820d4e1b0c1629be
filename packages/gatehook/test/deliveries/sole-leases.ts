/** The leases of a node that serves every customer alone. */
import type { Leases } from '../../src/outbound/deliveries/ports.ts'

export const soleLeases: Leases = {
  isAlive: true,
  generation: 0,
  holds: () => true,
  take: async () => {},
}
