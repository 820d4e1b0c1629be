/** The work of a node without attempts: its customers move to other nodes at once. */
import type { NodeWork } from '../../src/outbound/deliveries/ports.ts'

export const idleWork: NodeWork = {
  countUnfinished: () => 0,
  finish: () => true,
}
