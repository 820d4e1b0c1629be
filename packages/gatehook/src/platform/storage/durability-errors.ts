/** Errors of commits whose durability PostgreSQL does not have (`GATEHOOK_DURABILITY=replica`). */

/** The commit is durable on the primary, and a replica has not confirmed it in time. */
export class UnreplicatedError extends Error {
  override readonly name = 'UnreplicatedError'
  readonly code = '57014'
}

/** The server has no synchronous standby for a commit, or no standby has the rows of a table. */
export class DurabilityLostError extends Error {
  override readonly name = 'DurabilityLostError'
  readonly fault: 'lost' | 'unlogged'

  constructor(fault: 'lost' | 'unlogged') {
    super(`the durability is ${fault}`)
    this.fault = fault
  }
}

/** Returns why the server refused a commit. */
export const durabilityFaultIn = (detail: unknown): DurabilityLostError['fault'] =>
  detail instanceof DurabilityLostError ? detail.fault : 'lost'
